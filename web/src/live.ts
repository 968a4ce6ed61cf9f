/** Follows a counter: reads its events, and reconnects after every loss without missing a step. */

import type { Api } from "./api";
import { asProblem } from "./problem";
import { backoff, eventParser } from "./sse";
import type { LiveStep } from "./types";

export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "lost"; until: number }
  | { state: "ended" }
  | { state: "refused"; reason: string };

interface Follower {
  onEvent(event: LiveStep): void;
  onConnection(connection: Connection): void;
  signal: AbortSignal;
}

/** The service sends a comment every 15 s. After three missing ones the connection counts as lost. */
const SILENCE = 45_000;

export interface Following {
  /** Reconnects now. */
  retry(): void;
}

export function follow(api: Api, name: string, from: number, follower: Follower): Following {
  let lastId: string | null = null;
  let attempt = 0;
  let wake: (() => void) | null = null;

  const wait = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      follower.signal.addEventListener("abort", wake, { once: true });
    });

  /** Reads one connection to its end. Returns true when the service said that no more releases follow. */
  async function read(): Promise<boolean> {
    const abort = new AbortController();
    const stop = () => abort.abort();
    follower.signal.addEventListener("abort", stop, { once: true });
    let silence = setTimeout(stop, SILENCE);
    try {
      const response = await api.live(name, from, lastId, abort.signal);
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      const parse = eventParser();
      follower.onConnection({ state: "live" });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return false;
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE);
        attempt = 0;
        for (const event of parse(value)) {
          if (event.id !== null) lastId = event.id;
          if (event.type === "end") return true;
          if (event.type === "release") follower.onEvent(JSON.parse(event.data) as LiveStep);
        }
      }
    } finally {
      clearTimeout(silence);
      follower.signal.removeEventListener("abort", stop);
      stop();
    }
  }

  async function run(): Promise<void> {
    while (!follower.signal.aborted) {
      follower.onConnection({ state: "connecting" });
      try {
        if (await read()) return follower.onConnection({ state: "ended" });
      } catch (cause) {
        if (follower.signal.aborted) return;
        const { status, message } = asProblem(cause);
        // A refusal that waiting cannot change is not tried again.
        if ([400, 401, 403, 404, 405, 422].includes(status)) return follower.onConnection({ state: "refused", reason: message });
      }
      if (follower.signal.aborted) return;
      const pause = backoff(attempt, Math.random());
      attempt += 1;
      follower.onConnection({ state: "lost", until: Date.now() + pause });
      await wait(pause);
    }
  }

  void run();
  return { retry: () => wake?.() };
}
