/** Loads the small curves of the rows on the screen, a few at a time. */

import type { Api } from "../api";
import type { Release } from "../types";

interface Wanted {
  name: string;
  nextStep: number;
  key: string | undefined;
}

export interface SparklineLoader {
  /** Calls `show` once, with recent releases, when the element first comes into sight. */
  watch(element: Element, what: () => Wanted, show: (releases: Release[]) => void): void;
}

const MAX_REQUESTS = 4;
const RECENT_STEPS = 120;

export function sparklineLoader(api: Api, signal: AbortSignal): SparklineLoader {
  const jobs = new Map<Element, { what: () => Wanted; show: (releases: Release[]) => void }>();
  const queue: Element[] = [];
  let running = 0;

  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      observer.unobserve(entry.target);
      queue.push(entry.target);
    }
    work();
  }, { rootMargin: "200px" });
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });

  function work(): void {
    while (running < MAX_REQUESTS && queue.length > 0 && !signal.aborted) {
      const element = queue.shift()!;
      const job = jobs.get(element);
      jobs.delete(element);
      if (!job) continue;
      const { name, nextStep, key } = job.what();
      if (nextStep === 0) continue;
      running += 1;
      api.releases(name, { first: Math.max(0, nextStep - RECENT_STEPS), points: 60, key }, signal)
        .then((page) => job.show(page.releases), () => undefined)
        .finally(() => {
          running -= 1;
          work();
        });
    }
  }

  return {
    watch(element, what, show) {
      jobs.set(element, { what, show });
      observer.observe(element);
    },
  };
}
