// A mock service for developing and testing the page: plausible counters, populations and tokens, no privacy.

/** A small generator of uniform numbers with a seed, so that every run draws the same curves. */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86400 };

export class Refusal extends Error {
  constructor(status, className, message, field = null) {
    super(message);
    this.status = status;
    this.className = className;
    this.field = field;
  }
}

const bad = (field, expected) => new Refusal(400, "bad-parameter", `${field} must be ${expected}`, field);

export function seconds(text) {
  const match = /^(\d+)([smhd])$/.exec(text);
  if (!match) throw bad("every", "a length of time such as 15m");
  return Number(match[1]) * SECONDS[match[2]];
}

/** Standard error that grows like that of a good factorization: with the logarithm of the step. */
function standardError(counter, step) {
  return (counter.noise / counter.budget.epsilon) * (1 + Math.log(step + 1) / Math.PI);
}

const rhoOf = (epsilon) => (epsilon * epsilon) / 80;

export class World {
  constructor({ scene = "few" } = {}) {
    this.random = generator(7);
    this.mode = "running";
    this.reason = null;
    this.epoch = 0;
    this.started = new Date().toISOString();
    this.populations = new Map();
    this.counters = new Map();
    this.tokens = new Map();
    this.listeners = new Set();
    this.used = new Set();
    this.nextToken = 1;
    this.admin = this.makeToken({ name: "operator", role: "admin" }).token;
    this.read = this.makeToken({ name: "office screen", role: "read" }).token;
    this.ingest = this.makeToken({ name: "shop backend", role: "ingest" }).token;
    if (scene === "few") this.fewCounters();
    if (scene === "many") this.manyCounters(10_000);
  }

  gaussian() {
    return Math.sqrt(-2 * Math.log(1 - this.random())) * Math.cos(2 * Math.PI * this.random());
  }

  makeToken({ name, role, expires = null }) {
    if (!name) throw bad("name", "1 to 100 characters");
    if (expires !== null && Date.parse(expires) <= Date.now()) throw bad("expires", "a time in the future");
    const token = { id: `tok${this.nextToken++}`, name, role, created: new Date().toISOString(), expires, token: `evt_${Array.from({ length: 32 }, () => "abcdefghijkmnpqrstuvwxyz23456789"[Math.floor(this.random() * 32)]).join("")}` };
    this.tokens.set(token.id, token);
    return token;
  }

  population(name) {
    const found = this.populations.get(name);
    if (!found) throw new Refusal(404, "not-found", `population: there is none called ${name}`, "population");
    return found;
  }

  createPopulation({ name, unit = "event", neighbours = "add-remove", epsilon, delta, key_delta = 0 }) {
    if (!/^[\w.-]{1,100}$/.test(name ?? "")) throw bad("name", "1 to 100 letters, digits, - _ .");
    if (!(epsilon > 0)) throw bad("epsilon", "a number above 0");
    if (this.populations.has(name)) throw new Refusal(409, "conflict", "a population of this name exists", "name");
    this.populations.set(name, { name, unit, neighbours, total: { epsilon, delta, rho: null, key_delta }, entries: [] });
    return this.showPopulation(name);
  }

  showPopulation(name) {
    const { entries, total, ...rest } = this.population(name);
    const whole = rhoOf(total.epsilon);
    const spent = entries.reduce((sum, entry) => sum + entry.rho, 0);
    const epsilon = (rho) => Math.sqrt(80 * Math.max(0, rho));
    return { ...rest, total, spent: { rho: spent, epsilon: epsilon(spent), key_delta: 0 }, left: { rho: whole - spent, epsilon: epsilon(whole - spent), key_delta: total.key_delta }, entries };
  }

  /** Checks a new counter as the service would, and gives what it would become. */
  plan(wanted) {
    const { population = "everyone", every = null, steps = null, epsilon, delta, workload = "prefix-sum", keys = null, max_steps, min_gap = null, clamp = null } = wanted;
    if (!(epsilon > 0)) throw bad("epsilon", "a number above 0");
    if (!(delta >= 0 && delta < 1)) throw bad("delta", "a number from 0 to below 1");
    if (every !== null) seconds(every);
    if (epsilon > 50) throw bad("epsilon", "at most 50, because more protects nobody");
    const participation = max_steps ? { max_steps, min_gap: min_gap ?? 1, unnamed: "left out" } : null;
    const magnitude = (clamp ? Math.max(Math.abs(clamp[0]), Math.abs(clamp[1])) : 1) * Math.sqrt(max_steps ?? 1);
    const counter = {
      population, every, steps, workload, participation, clamp, keys: keys ? [...keys, "other"] : null, budget: { epsilon, delta }, rho: rhoOf(epsilon), noise: 4.2 * magnitude,
      mechanism: wanted.mechanism ?? (delta === 0 ? "laplace-tree" : steps === null ? "blt" : "graded-square-root"), objective: wanted.objective ?? "mean", neighbours: wanted.neighbours ?? "add-remove",
      unit: participation ? "person" : "event", arithmetic: "exact whole numbers", grid: wanted.grid ?? null, remember_ids: wanted.remember_ids ?? 24, grace: wanted.grace ?? null, distinct: null, discover: null,
    };
    const last = (steps ?? 2 ** 20) - 1;
    const horizon = standardError(counter, last);
    const binary = wanted.mechanism === "binary";
    counter.accuracy = {
      now: null, at_horizon: steps === null ? null : horizon, rmse: steps === null ? null : horizon * 0.94, worst: steps === null ? null : horizon,
      over_optimum: steps === null ? 1.31 : binary ? 6.31 : 1.0013, binary_tree_rmse: horizon * 2.36, binary_tree_over: steps === null ? 4.8 : binary ? 1 : 6.32,
    };
    counter.profile = Array.from({ length: 60 }, (_, i) => Math.round(last * (i / 59) ** 2)).filter((step, i, all) => step !== all[i - 1]).map((step) => ({ step, standard_error: standardError(counter, step) }));
    return counter;
  }

  preview(wanted) {
    const planned = this.plan(wanted);
    const population = this.populations.has(planned.population) ? this.showPopulation(planned.population) : null;
    const { mechanism, arithmetic, rho, unit, accuracy, profile } = planned;
    return { mechanism, arithmetic, noise_multiplier: planned.noise / planned.budget.epsilon, rho, unit, accuracy, discover: null, population, affordable: population && population.left.rho >= rho, profile, warnings: [] };
  }

  createCounter(wanted, past = 0, rate = () => 3) {
    const { name } = wanted;
    if (!/^[\w.-]{1,100}$/.test(name ?? "")) throw bad("name", "1 to 100 letters, digits, - _ .");
    if (this.used.has(name)) throw new Refusal(409, "conflict", "a counter of this name exists or existed", "name");
    const planned = this.plan(wanted);
    const population = this.population(planned.population);
    if (this.showPopulation(planned.population).left.rho < planned.rho) throw new Refusal(409, "budget-spent", `population ${planned.population} has not enough left`, "epsilon");
    population.entries.push({ counter: name, epoch: this.epoch, rho: planned.rho, key_delta: 0 });
    const step = planned.every === null ? null : seconds(planned.every) * 1000;
    const start = step === null ? null : wanted.start ? Date.parse(wanted.start) : (Math.floor(Date.now() / step) - past) * step;
    const counter = {
      ...planned, name, description: wanted.description ?? null, status: "running", created: new Date(Date.now() - (step ?? 3_600_000) * past).toISOString(), epoch: this.epoch,
      step, startTime: start, start: start === null ? null : new Date(start).toISOString(), rate, series: (planned.keys ?? [null]).map((key) => ({ key, total: 0, noise: 0, releases: [] })), next_step: 0,
    };
    this.counters.set(name, counter);
    this.used.add(name);
    for (let i = 0; i < past; i += 1) this.close(counter);
    return counter;
  }

  /** Closes one step: adds what came, draws noise that moves slowly, and keeps the release. */
  close(counter) {
    const step = counter.next_step;
    const time = counter.step === null ? null : new Date(counter.startTime + (step + 1) * counter.step).toISOString();
    const error = standardError(counter, step);
    counter.series.forEach((series, index) => {
      series.total += Math.max(0, Math.round(counter.rate(step, index) * (0.6 + 0.8 * this.random())));
      series.noise = 0.96 * series.noise + Math.sqrt(1 - 0.96 ** 2) * this.gaussian();
      const value = Math.round(series.total + error * series.noise);
      series.releases.push({ step, time, epoch: counter.epoch, key: series.key, value, standard_error: error, lower: value - 1.96 * error, upper: value + 1.96 * error });
    });
    counter.next_step += 1;
    const latest = counter.series.map((series) => series.releases.at(-1));
    counter.accuracy.now = error;
    if (counter.steps !== null && counter.next_step >= counter.steps) counter.status = "ended";
    for (const listener of this.listeners) listener(counter, { step, time, releases: latest });
    return latest;
  }

  tick() {
    if (this.mode !== "running") return;
    for (const counter of this.counters.values()) {
      if (counter.status !== "running" || counter.step === null) continue;
      while (counter.status === "running" && counter.startTime + (counter.next_step + 1) * counter.step <= Date.now()) this.close(counter);
    }
  }

  counter(name) {
    const found = this.counters.get(name);
    if (!found) throw new Refusal(404, "not-found", "there is no counter of this name");
    return found;
  }

  show({ noise: _noise, profile: _profile, series, rate: _rate, step, startTime, ...counter }) {
    const running = counter.status === "running" && step !== null;
    const latest = series[0].releases.length === 0 ? null : series.map((each) => each.releases.at(-1));
    return { ...counter, next_release: running ? new Date(startTime + (counter.next_step + 1) * step).toISOString() : null, latest };
  }

  setMode(mode, reason = null) {
    this.mode = mode;
    this.reason = reason;
    for (const counter of this.counters.values()) {
      if (mode === "fenced" && counter.status === "running") counter.status = "fenced";
    }
  }

  epochPreview() {
    const preview = [...this.counters.values()].filter((each) => each.status === "fenced" || each.status === "running").map((each) => ({ counter: each.name, population: each.population, rho: each.rho, affordable: this.showPopulation(each.population).left.rho >= each.rho }));
    return { mode: this.mode, reason: this.reason, epoch: this.epoch, preview };
  }

  startEpoch() {
    if (this.mode !== "fenced") throw new Refusal(409, "conflict", "the service is not fenced");
    this.epoch += 1;
    const restarted = [];
    const left = [];
    for (const counter of this.counters.values()) {
      if (counter.status !== "fenced") continue;
      if (this.showPopulation(counter.population).left.rho < counter.rho) {
        left.push({ counter: counter.name, reason: "its population has not enough left" });
        continue;
      }
      this.population(counter.population).entries.push({ counter: counter.name, epoch: this.epoch, rho: counter.rho });
      counter.epoch = this.epoch;
      counter.status = "running";
      restarted.push(counter.name);
    }
    this.mode = "running";
    this.reason = null;
    return { epoch: this.epoch, restarted, left };
  }

  fewCounters() {
    this.createPopulation({ name: "customers", unit: "person", epsilon: 4, delta: 1e-6 });
    this.createPopulation({ name: "everyone", epsilon: 3, delta: 1e-6 });
    this.createPopulation({ name: "patients", unit: "person", epsilon: 1, delta: 1e-8 });
    const wave = (base, swing, period) => (step) => base * (1 + swing * Math.sin((2 * Math.PI * step) / period));
    const make = (wanted, past, rate) => this.createCounter({ delta: 1e-6, ...wanted }, past, rate);
    make({ name: "visits", description: "Visits to the site, all pages", every: "1s", steps: 86_400, epsilon: 1 }, 1900, wave(3, 0.9, 400));
    make({ name: "orders", description: "Orders by region", population: "customers", every: "1m", steps: 43_200, epsilon: 1.5, keys: ["north", "south", "west", "east"], max_steps: 4, min_gap: 60 }, 900, (step, key) => [9, 6, 5, 3, 0.6][key] * (1 + 0.8 * Math.sin(step / 160)));
    make({ name: "refunds.value", description: "Value of refunds, in euros", population: "customers", every: "15m", steps: 35_040, epsilon: 2, clamp: [0, 100], max_steps: 1 }, 700, wave(160, 0.7, 96));
    make({ name: "admissions", description: "Admissions, all wards", population: "patients", every: "1h", steps: 8760, epsilon: 0.5, max_steps: 2, min_gap: 24, delta: 1e-8 }, 2100, wave(6, 0.8, 24));
    make({ name: "searches-last-hour", description: "Searches of the last hour, at every minute", every: "1m", epsilon: 0.8, workload: "window:60" }, 400, wave(2, 0.5, 300));
    make({ name: "ballots", description: "Advanced by hand when a box is counted", every: null, steps: 64, epsilon: 0.5 }, 17, () => 420);
    const old = make({ name: "pilot-2025", description: "The pilot, closed", every: "1d", steps: 365, epsilon: 1 }, 300, wave(40, 0.4, 90));
    old.status = "retired";
    for (const series of old.series) series.releases = series.releases.slice(0, 200);
    old.next_step = 200;
  }

  manyCounters(count) {
    this.createPopulation({ name: "everyone", epsilon: 2000, delta: 1e-6 });
    for (let i = 0; i < count; i += 1) this.createCounter({ name: `branch-${String(i).padStart(5, "0")}`, every: "1h", steps: 8760, epsilon: 1, delta: 1e-6 }, 3, () => 5 + (i % 40));
  }
}
