// Server-sent events, read with fetch: the token is in a header, never in an address. A dropped stream resumes after the
// last event that arrived.
const RETRY_MS = [250, 500, 1000, 2000, 4000], SILENT_MS = 15000;

// `on.event(kind, data)`, `on.state("live" | "lost" | "refused" | "ended", text, access)`.
export async function follow(token, on) {
  let last = "", tries = 0;
  for (;;) {
    const outcome = await once(token, last, on, (id) => { last = id; tries = 0; });
    if (outcome.final) return on.state(outcome.state, outcome.text);
    on.state("lost", outcome.text);
    await new Promise((then) => setTimeout(then, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]));
  }
}

async function once(token, last, on, arrived) {
  const leave = new AbortController();
  let silence = setTimeout(() => leave.abort(), SILENT_MS);
  try {
    const headers = { authorization: `Bearer ${token}`, ...(last ? { "last-event-id": last } : {}) };
    const reply = await fetch("/v1/stream", { headers, signal: leave.signal, cache: "no-store" });
    if (!reply.ok) {
      const { error } = await reply.json();
      return { final: reply.status !== 503, state: "refused", text: error };
    }
    on.state("live", "", reply.headers.get("faultline-access"));
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let waiting = "", ended = false; !ended;) {
      const { value, done } = await reader.read();
      clearTimeout(silence);
      silence = setTimeout(() => leave.abort(), SILENT_MS);
      if (done) break;
      const blocks = (waiting + value).split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split("\n").map((line) => {
          const at = line.indexOf(": ");
          return [line.slice(0, at), line.slice(at + 2)];
        }));
        arrived(fields.id);
        ended ||= fields.event === "end";
        if (!ended) on.event(fields.event, JSON.parse(fields.data));
      }
      if (ended) return { final: true, state: "ended", text: "The cluster has ended." };
    }
    return { text: "The stream broke off; trying again." };
  } catch (error) {
    if (!(error instanceof TypeError) && error.name !== "AbortError") throw error;
    return { text: "The control server is unreachable; trying again." };
  } finally {
    clearTimeout(silence);
    leave.abort();
  }
}
