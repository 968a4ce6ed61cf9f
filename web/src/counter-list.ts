/** The counters that the page has loaded: single pages of them, or all of them when a search needs all. */

import type { Api } from "./api";
import { halfWidth } from "./format";
import type { Counter } from "./types";

/** The most counters on one page of the service. */
const MAX_PAGE = 1000;

export const SORTS = [
  ["name", "Name"], ["value", "Value, largest first"], ["error", "Error, largest first"], ["next", "Next release"], ["newest", "Newest"],
] as const;
export type SortId = (typeof SORTS)[number][0];

/** The release that a row shows: the only one, or the largest of all keys. */
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

/** The matching counters, sorted; ties by name. Pure. */
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

export class CounterList {
  total = 0;
  #pages: (Counter[] | undefined)[] = [];
  /** The name after which each page starts. */
  #after: (string | undefined)[] = [undefined];
  #complete: Map<string, Counter> | null = null;
  #reading: Promise<void> | null = null;

  constructor(private readonly api: Api, private readonly size: number) {}

  /** One page, in the order of names. Pages load one after another, because each starts after a name. */
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

  /** Drops a page, so that it is loaded again. */
  expire(index: number): void {
    this.#pages[index] = undefined;
    this.#complete = null;
  }

  known(): Counter[] {
    return [...(this.#complete?.values() ?? [])];
  }

  /** Loads all counters once, page after page, and reports progress. */
  all(signal: AbortSignal, progress: (loaded: number, total: number) => void): Promise<void> {
    if (this.#complete) return Promise.resolve();
    this.#reading ??= (async () => {
      const found = new Map<string, Counter>();
      let after: string | undefined;
      do {
        const answer = await this.api.counters({ limit: MAX_PAGE, after }, signal);
        for (const counter of answer.counters) found.set(counter.name, counter);
        this.total = answer.total;
        after = answer.next ?? undefined;
        if (after !== undefined) progress(found.size, answer.total);
      } while (after !== undefined);
      this.#complete = found;
    })().finally(() => (this.#reading = null));
    return this.#reading;
  }

  /** Loads a few counters again, those on the screen. */
  async refresh(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (const name of names.slice(0, 20)) this.#complete?.set(name, await this.api.counter(name, signal));
  }
}
