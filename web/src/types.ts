/** What the service sends and takes, as its HTTP contract states it. Times are RFC 3339, steps count from 0. */

export type Role = "read" | "ingest" | "admin";
export type Mode = "running" | "fenced" | "read-only";
export type CounterStatus = "running" | "fenced" | "retired" | "ended";

export interface Status {
  version: string;
  mode: Mode;
  reason: string | null;
  now: string;
  started: string;
  counters: Record<CounterStatus, number>;
  role: Role;
  token_name: string;
}

export interface Release {
  step: number;
  time: string | null;
  epoch: number;
  key: string | null;
  value: number;
  standard_error: number;
  lower: number;
  upper: number;
}

export interface Accuracy {
  now: number | null;
  at_horizon: number | null;
  rmse: number | null;
  worst: number | null;
  over_optimum: number | null;
  binary_tree_rmse: number | null;
  binary_tree_over: number | null;
}

export interface Participation {
  max_steps: number;
  min_gap: number | null;
}

export interface Counter {
  name: string;
  description: string | null;
  population: string;
  status: CounterStatus;
  created: string;
  epoch: number;
  every: string | null;
  start: string | null;
  grace: string | null;
  steps: number | null;
  next_step: number;
  next_release: string | null;
  keys: string[] | null;
  budget: { epsilon: number; delta: number };
  rho: number;
  unit: string;
  neighbours: string;
  participation: Participation | null;
  clamp: [number, number] | null;
  mechanism: string;
  workload: string;
  objective: string;
  arithmetic: string;
  grid: number | null;
  remember_ids: number | null;
  accuracy: Accuracy;
  latest: Release[] | null;
}

export interface CounterPage {
  counters: Counter[];
  total: number;
  next: string | null;
}

export interface ReleasePage {
  counter: string;
  releases: Release[];
  next: number | null;
}

export interface LiveEvent {
  step: number;
  time: string | null;
  releases: Release[];
}

export interface Population {
  name: string;
  unit: string;
  neighbours: string;
  /** Either ε and δ, or ρ instead of both. */
  total: { epsilon: number | null; delta: number | null; rho?: number | null };
  spent: { rho: number; epsilon: number | null };
  left: { rho: number; epsilon: number | null };
  entries: { counter: string; epoch: number; rho: number }[];
}

export interface NewPopulation {
  name: string;
  unit?: string;
  neighbours?: string;
  epsilon: number;
  delta: number;
}

export interface NewCounter {
  name?: string;
  description?: string;
  population?: string;
  every?: string | null;
  start?: string;
  grace?: string;
  steps?: number | null;
  epsilon: number;
  delta: number;
  mechanism?: string;
  workload?: string;
  keys?: string[];
  max_steps?: number;
  min_gap?: number;
  clamp?: [number, number];
  neighbours?: string;
  objective?: string;
  grid?: number;
  remember_ids?: number;
}

export interface Preview {
  mechanism: string;
  arithmetic: string;
  noise_multiplier: number;
  rho: number;
  unit: string;
  accuracy: Accuracy;
  population: Population | null;
  affordable: boolean | null;
  profile: { step: number; standard_error: number }[];
}

export interface IntervalSum {
  first: number;
  last: number;
  key: string | null;
  value: number;
  standard_error: number;
  lower: number;
  upper: number;
}

export interface Token {
  id: string;
  name: string;
  role: Role;
  created: string;
  expires: string | null;
}

export interface Epoch {
  mode: Mode;
  reason: string | null;
  epoch: number;
  preview: { counter: string; population: string; rho: number; affordable: boolean }[];
}

export interface EpochStarted {
  epoch: number;
  restarted: string[];
  left: { counter: string; reason: string }[];
}
