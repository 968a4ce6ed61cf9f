/** What every view shares: the service's routes, its latest status, its clock, and the ways from one view to another. */

import type { Api } from "./api";
import type { Role, Status } from "./types";

export interface App {
  api: Api;
  status: Status;
  /** Asks for the status now, because something was done that may have changed it. */
  refreshStatus(): Promise<void>;
  onStatus(signal: AbortSignal, listener: (status: Status) => void): void;
  /** A short confirmation that is shown for a while and read out. */
  announce(message: string): void;
}

/** Draws itself into `main`; whatever it starts ends with `signal`. */
export type View = (app: App, main: HTMLElement, signal: AbortSignal) => void | Promise<void>;

let offset = 0;

/** The service's clock, by the difference seen in its last status: countdowns hold even where this machine's clock is wrong. */
export function serviceNow(): number {
  return Date.now() + offset;
}

export function setServiceTime(now: string): void {
  const time = Date.parse(now);
  if (!Number.isNaN(time)) offset = time - Date.now();
}

export function may(app: App, role: Role): boolean {
  return app.status.role === "admin" || app.status.role === role;
}

export const paths = {
  counters: "#/",
  counter: (name: string) => `#/counters/${encodeURIComponent(name)}`,
  create: "#/new",
  budget: "#/budget",
  tokens: "#/tokens",
  epoch: "#/epoch",
} as const;

export type Route = { view: "counters" | "create" | "budget" | "tokens" | "epoch" } | { view: "counter"; name: string } | { view: "unknown" };

/** Which view an address asks for. Pure. */
export function route(hash: string): Route {
  const parts = hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  const [head, name] = parts;
  if (head === undefined) return { view: "counters" };
  if (head === "counters" && parts.length === 2) {
    try {
      return { view: "counter", name: decodeURIComponent(name!) };
    } catch {
      return { view: "unknown" };
    }
  }
  if (parts.length === 1 && head === "new") return { view: "create" };
  if (parts.length === 1 && (head === "budget" || head === "tokens" || head === "epoch")) return { view: head };
  return { view: "unknown" };
}
