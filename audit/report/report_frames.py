"""Containers that scripts fill: choice of messages, list of visible ones, logs at a time.

They are hidden until a script runs."""

from audit.report.report_messages import KINDS

NAMES = {
    "fetch": "FETCH",
    "epoch": "OFFSET_FOR_LEADER_EPOCH",
    "order": "LEADER_AND_ISR, STOP_REPLICA",
    "metadata": "UPDATE_METADATA",
    "isr": "ALTER_ISR, CONTROLLED_SHUTDOWN",
    "produce": "PRODUCE",
    "client": "others of clients",
    "session": "sessions",
    "ensemble": "the ensemble's",
}


def message_choices() -> str:
    assert NAMES.keys() == KINDS.keys()
    boxes = "".join(
        f'<label><input type="checkbox" value="{kind}"><i class="stroke m-{kind}"></i>{NAMES[kind]} <small></small>'
        "</label>"
        for kind in KINDS
    )
    return (
        f'<div class="tools" id="messages" hidden><fieldset><legend>Messages</legend>{boxes}</fieldset>'
        '<p><span role="status"></span> <button type="button" hidden>8 × closer</button> '
        '<small class="left"></small></p></div>'
    )


NEAR = '<details id="near" hidden><summary>What is marked around this moment, as a list</summary><ol></ol></details>'

MESSAGES_LISTED = '<details id="listed"><summary>Messages that are drawn now, as a list</summary><ol></ol></details>'

LOGS = """<div id="logs" hidden><h3></h3><p class="tools"><span role="status"></span>
<span class="range" hidden><label>Offsets from <input type="number" min="0" step="1"></label> <span></span></span></p>
<div class="whole"></div><div class="scroll" tabindex="0" role="group" aria-label="Logs, offset under offset">
<table></table></div>
<ul class="legend"><li><i class="box b0 batch"></i><i class="box b1 batch"></i><i class="box b2 batch"></i>
<i class="box b3 batch"></i>a batch; 1@2: leader epoch 1 begins at offset 2</li>
<li><i class="box batch differs"></i>≠ another replica has something else here</li>
<li><i class="box batch cutoff"></i>cut off since; × it was acknowledged</li>
<li><i class="box boundary"></i>what is left of this line is below the high watermark</li>
<li class="long">in bars: red where replicas differ, a stroke where an epoch begins, a line below what is
committed, a frame around what the table shows</li></ul></div>"""
