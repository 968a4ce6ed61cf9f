/** Steps and moments. A step holds the times from its start, inclusive, to its end, exclusive. Pure. */

export interface Clock {
  /** Start of step 0 and length of a step, in milliseconds. */
  start: number;
  width: number;
}

/** The complete steps between two moments. `last` is below `first` when there are none. */
export function stepsBetween(from: number, to: number, clock: Clock): { first: number; last: number } {
  return { first: Math.ceil((from - clock.start) / clock.width), last: Math.floor((to - clock.start) / clock.width) - 1 };
}
