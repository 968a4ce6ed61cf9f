/** What all views share: the service's routes, status and clock, and the addresses of views. */

import type { Api } from "./api";
import type { Role, ServiceStatus } from "./types";

export interface App {
  api: Api;
  status: ServiceStatus;
  /** Loads the status now, after an action that may have changed it. */
  refreshStatus(): Promise<void>;
  onStatus(signal: AbortSignal, listener: (status: ServiceStatus) => void): void;
  /** Shows a short confirmation for a while, which screen readers read out. */
  announce(message: string): void;
}

/** Draws itself into `main`. Everything that it starts ends with `signal`. */
export type View = (app: App, main: HTMLElement, signal: AbortSignal) => void | Promise<void>;

let offset = 0;

/** The service's clock, by the offset in its last status. Countdowns do not depend on the local clock. */
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

/** The view of an address. Pure. */
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
