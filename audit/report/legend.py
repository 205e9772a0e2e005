"""Legend: every mark and colour of the picture with its single meaning."""

from audit.report.report_svg import EPOCH_COLOURS

_EPOCHS = "".join(f'<i class="box e{n}"></i>' for n in range(EPOCH_COLOURS))

LEGEND = f"""<ul class="legend">
<li><i class="dot kept"></i>acknowledged, kept</li>
<li><i class="dot lost">×</i>acknowledged, lost</li>
<li><i class="dot failed"></i>failed</li>
<li><i class="dot unknown">?</i>unanswered</li>
<li><i class="box dual"></i>two leaders</li>
<li>{_EPOCHS}leads; colour and pattern are the leader epoch's, in turn</li>
<li><i class="box isr"></i>in-sync replicas, by leader epoch</li>
<li><i class="bar controls"></i>is controller</li>
<li><i class="box alive"></i>runs</li>
<li><i class="box logend"></i>log</li>
<li><i class="bar watermark"></i>high watermark</li>
<li><i class="wedge"></i>log truncated</li>
<li><i class="box ensemble leading"></i>leads the ensemble, or the quorum</li>
<li><i class="box ensemble following"></i>follows</li>
<li><i class="box ensemble looking"></i>looks for a leader, or serves no client</li>
<li><i class="box cut"></i>links cut, delayed, held or losing</li>
<li><i class="mark machine">✕</i>killed, paused, or disk broken, on purpose</li>
<li><i class="mark">✕</i>died by itself</li>
<li><i class="mark">■</i>stopped</li>
<li><i class="mark">▶</i>started again</li>
<li><i class="mark">◆</i>session lost, or fenced</li>
<li><i class="mark">◇</i>ISR change refused</li>
<li><i class="mark step">▾</i>a step of the scenario</li>
<li><i class="arrow">→</i>a request</li>
<li><i class="arrow">⇢</i>its response</li>
<li><i class="arrow dies">✕</i>a message that a rule stopped</li>
<li><i class="arrow">○</i>a message that was not received</li>
</ul>"""
