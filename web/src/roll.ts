/** All counters as far as they are known here: pages as the service gives them, or every one where a search needs it. */

import type { Api } from "./api";
import { halfWidth } from "./format";
import type { Counter } from "./types";

/** The most counters that the service gives at once. */
const LARGEST_PAGE = 1000;

export const SORTS = [
  { id: "name", label: "Name" },
  { id: "value", label: "Value, largest first" },
  { id: "error", label: "Error, largest first" },
  { id: "next", label: "Next release" },
  { id: "newest", label: "Newest" },
] as const;
export type SortId = (typeof SORTS)[number]["id"];

/** The release that stands for a counter in a row: its only one, or the largest of its keys. */
export function headline(counter: Pick<Counter, "latest">): NonNullable<Counter["latest"]>[number] | null {
  return (counter.latest ?? []).reduce<NonNullable<Counter["latest"]>[number] | null>((best, release) => (best === null || release.value > best.value ? release : best), null);
}

function rank(counter: Counter, sort: SortId): number {
  const top = headline(counter);
  switch (sort) {
    case "value": return top ? -top.value : Number.POSITIVE_INFINITY;
    case "error": return top ? -halfWidth(top) : Number.POSITIVE_INFINITY;
    case "next": return counter.next_release ? Date.parse(counter.next_release) : Number.POSITIVE_INFINITY;
    case "newest": return -Date.parse(counter.created);
    case "name": return 0;
  }
}

/** Those that match, in order; ties by name. Pure. */
export function arrange(counters: readonly Counter[], by: { search: string; status: string; sort: SortId }): Counter[] {
  const words = by.search.toLowerCase().split(/\s+/).filter(Boolean);
  return counters
    .filter((counter) => {
      if (by.status && counter.status !== by.status) return false;
      const text = `${counter.name} ${counter.description ?? ""} ${counter.population}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .map((counter) => ({ counter, rank: rank(counter, by.sort) }))
    .sort((a, b) => (a.rank === b.rank ? (a.counter.name < b.counter.name ? -1 : 1) : a.rank < b.rank ? -1 : 1))
    .map(({ counter }) => counter);
}

export class Roll {
  total = 0;
  #pages: (Counter[] | undefined)[] = [];
  /** The name after which each page begins. */
  #after: (string | undefined)[] = [undefined];
  #complete: Map<string, Counter> | null = null;
  #reading: Promise<void> | null = null;

  constructor(private readonly api: Api, private readonly size: number) {}

  /** One page by name. Pages are reached one after another, because the service continues after a name. */
  async page(index: number, signal: AbortSignal): Promise<Counter[]> {
    for (let at = Math.min(index, this.#after.length - 1); ; at += 1) {
      const known = this.#pages[at];
      if (known && at === index) return known;
      const answer = await this.api.counters({ limit: this.size, after: this.#after[at] }, signal);
      this.total = answer.total;
      this.#pages[at] = answer.counters;
      if (answer.next !== null) this.#after[at + 1] = answer.next;
      if (at === index || answer.next === null) return answer.counters;
    }
  }

  /** Forgets a page, so that it is asked for again. */
  expire(index: number): void {
    this.#pages[index] = undefined;
    this.#complete = null;
  }

  known(): Counter[] {
    return [...(this.#complete?.values() ?? [])];
  }

  /** Reads every counter, once, page after page, and says how far it has come. */
  all(signal: AbortSignal, progress: (loaded: number, total: number) => void): Promise<void> {
    if (this.#complete) return Promise.resolve();
    this.#reading ??= (async () => {
      const found = new Map<string, Counter>();
      let after: string | undefined;
      do {
        const answer = await this.api.counters({ limit: LARGEST_PAGE, after }, signal);
        for (const counter of answer.counters) found.set(counter.name, counter);
        this.total = answer.total;
        after = answer.next ?? undefined;
        if (after !== undefined) progress(found.size, answer.total);
      } while (after !== undefined);
      this.#complete = found;
    })().finally(() => (this.#reading = null));
    return this.#reading;
  }

  /** Asks again for a few counters, those on the screen. */
  async refresh(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (const name of names.slice(0, 20)) this.#complete?.set(name, await this.api.counter(name, signal));
  }
}
