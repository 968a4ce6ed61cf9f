/**
 * Server-sent events, read from bytes.
 *
 * The browser's own EventSource cannot send a token, so the stream is fetched and parsed here. The
 * parser accepts chunks of any size, because a network may split the text anywhere.
 */

export interface ServerEvent {
  type: string;
  id: string | null;
  data: string;
}

/** Returns a function that takes the next chunk of text and returns the events that it completes. */
export function eventParser(): (piece: string) => ServerEvent[] {
  let rest = "";
  let started = false;
  let type = "";
  let data: string[] = [];
  let id: string | null = null;

  return (piece) => {
    const events: ServerEvent[] = [];
    rest += piece;
    if (!started && rest.length > 0) {
      if (rest.startsWith("\ufeff")) rest = rest.slice(1);
      started = true;
    }
    for (;;) {
      const end = rest.search(/[\r\n]/);
      if (end < 0) return events;
      // A lone carriage return at the very end may be the first half of a pair.
      if (rest[end] === "\r" && end === rest.length - 1) return events;
      const line = rest.slice(0, end);
      rest = rest.slice(end + (rest[end] === "\r" && rest[end + 1] === "\n" ? 2 : 1));
      if (line === "") {
        if (data.length > 0) events.push({ type: type || "message", id, data: data.join("\n") });
        type = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") data.push(value);
      else if (field === "event") type = value;
      else if (field === "id" && !value.includes("\0")) id = value;
    }
  };
}

/**
 * How long to wait before the next attempt: doubling from 1 s to 30 s, minus up to a half at random, so
 * that many pages do not reconnect at once.
 */
export function backoff(attempt: number, random: number): number {
  const longest = Math.min(30_000, 1000 * 2 ** Math.min(attempt, 10));
  return longest * (1 - random / 2);
}
