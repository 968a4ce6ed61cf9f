import { describe, expect, test, vi } from "vitest";
import { route } from "../../src/app";
import { draftOf, usualSteps, type Values } from "../../src/draft";
import { Problem, sentence } from "../../src/problem";
import { arrange, headline, CounterList } from "../../src/counter-list";
import { splitFragment } from "../../src/session";
import { budgetWords, shares } from "../../src/ui/budget-bar";
import { againstTree, curl, noKeyYet, optimality, promise, protection, quantity } from "../../src/guarantees";
import { nextWords } from "../../src/views/counter-row";
import { Api } from "../../src/api";
import type { Accuracy, Counter, Release } from "../../src/types";

const release = (value: number, key: string | null = null): Release => ({ step: 1, time: null, epoch: 0, key, value, standard_error: 12, lower: value - 23.52, upper: value + 23.52 });
const accuracy: Accuracy = { now: 12, at_horizon: 20, rmse: 18, worst: 20, over_optimum: 1.0013, binary_tree_rmse: 45, binary_tree_over: 6.32 };
const counter = (change: Partial<Counter> = {}): Counter => ({
  name: "visits", description: null, population: "everyone", status: "running", created: "2026-01-01T00:00:00Z", epoch: 0, every: "1h", start: null, grace: null, steps: 100, next_step: 2,
  next_release: "2026-01-01T02:00:00Z", keys: null, budget: { epsilon: 1, delta: 1e-6 }, rho: 0.01, unit: "event", neighbours: "add-remove", participation: null, distinct: null, discover: null, clamp: null, mechanism: "m",
  workload: "prefix-sum", objective: "mean", arithmetic: "exact", grid: null, remember_ids: 1, accuracy, latest: [release(500)], ...change,
});

describe("addresses", () => {
  test("a token is taken out whole and nothing of it stays", () => {
    expect(splitFragment("#token=evt_abc")).toEqual({ token: "evt_abc", rest: "" });
    expect(splitFragment("#token=evt%5Fabc")).toEqual({ token: "evt_abc", rest: "" });
    expect(splitFragment("#/budget&token=x")).toEqual({ token: "x", rest: "#/budget" });
    expect(splitFragment("#/counters/token")).toEqual({ token: null, rest: "#/counters/token" });
    expect(splitFragment("#token=")).toEqual({ token: null, rest: "" });
    expect(splitFragment("#token=%E0%A4%A")).toEqual({ token: null, rest: "" });
  });

  test("views", () => {
    expect(route("")).toEqual({ view: "counters" });
    expect(route("#/")).toEqual({ view: "counters" });
    expect(route("#/counters/a%2Fb.c")).toEqual({ view: "counter", name: "a/b.c" });
    expect(route("#/counters/%E0%A4%A")).toEqual({ view: "unknown" });
    expect(route("#/new")).toEqual({ view: "create" });
    expect(route("#/nowhere")).toEqual({ view: "unknown" });
    expect(route("#/budget/more")).toEqual({ view: "unknown" });
  });
});

describe("guarantees", () => {
  test("the promise names the margin, rounded up", () => {
    expect(promise(counter(), release(500))).toBe("With probability 95 %, the true total is within ± 24 of what is shown.");
    expect(promise(counter({ workload: "window:60" }), release(5, "a"))).toContain("total of the last 60 steps of “a” is within ± 24");
  });

  test("how good it is", () => {
    expect(optimality(accuracy)).toBe("At most 0.13\u202f% more squared error than any mechanism can have.");
    expect(optimality({ ...accuracy, over_optimum: 1 })).toBe("No mechanism can have less mean squared error.");
    expect(optimality({ ...accuracy, over_optimum: null })).toBeNull();
    expect(againstTree(accuracy)).toBe("6.3 times less squared error than the binary tree.");
    expect(againstTree({ ...accuracy, binary_tree_over: 0.5 })).toBe("2 times more squared error than the binary tree.");
  });

  test("who is protected", () => {
    expect(protection(counter())).toContain("whether any one event is in the data at all: ε = 1, δ = 10⁻⁶, all steps together.");
    const bounded = protection(counter({ unit: "person", participation: { max_steps: 4, min_gap: 60, unnamed: "left out" }, keys: ["a"], budget: { epsilon: 1, delta: 0 } }));
    expect(bounded).toContain("any one person took part at all: ε = 1, pure, all steps and all keys together.");
    expect(bounded).toContain("at most 4 steps, at least 60 apart");
    const once = { max_steps: 1, min_gap: 1, unnamed: "left out" };
    expect(protection(counter({ unit: "person", participation: once, distinct: 1 }))).toMatch(/One person counts once\.$/);
    expect(protection(counter({ unit: "person", participation: once, distinct: 3 }))).toContain("counts once, in each of at most 3 keys");
    expect(quantity(counter({ distinct: 1 }))).toBe("number of different persons");
  });

  test("keys that are found", () => {
    const discover = { key_delta: 5e-7, share: 0.5, floor: 2, keys_per_person: 4, first_threshold: 96, last_threshold: 115, memory_limit: 1 << 28 };
    expect(protection(counter({ keys: [], discover }))).toContain("a key that has not appeared leaves no trace");
    expect(noKeyYet(discover)).toBe("No key has appeared yet. A key appears once its private count of persons reaches 96, or 115 at the last step.");
    expect(curl("http://localhost", counter({ keys: [], discover }))).toContain(`"key":"any-key"`);
  });

  test("the command is safe to paste", () => {
    const text = curl("http://localhost", counter({ keys: ["it's"], clamp: [0, 10], participation: { max_steps: 1, min_gap: 1, unnamed: "left out" } }));
    expect(text).toContain(`'{"id":"order-4711","key":"it'\\''s","person":"customer-42","value":10}'`);
    expect(text).not.toContain("evt_");
  });

  test("when the next release comes", () => {
    const now = Date.parse("2026-01-01T01:00:00Z");
    expect(nextWords(counter(), now)).toBe("in 1 h");
    expect(nextWords(counter({ status: "fenced" }), now)).toBe("stopped");
    expect(nextWords(counter({ every: null, next_release: null }), now)).toBe("by hand");
    expect(nextWords(counter(), now + 2 * 3_600_000)).toBe("now");
    expect(nextWords(counter({ every: "1s" }), now)).toBe("every second");
    const due = Date.parse("2026-01-01T02:00:00Z");
    expect(nextWords(counter({ every: "5s" }), due + 1000)).toBe("in 4 s");
    expect(nextWords(counter({ every: "5s" }), due + 7000)).toBe("in 3 s");
    expect(nextWords(counter({ every: "5s" }), due + 60_000)).toBe("now");
  });
});

describe("refusals", () => {
  const refused = (message: string, className = "bad-parameter", status = 400) => new Problem(status, className, message);
  const answering = (body: object, status: number, headers: Record<string, string> = {}) =>
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(body), { status, headers })));
  const refusal = () => new Api("evt_x", () => undefined).counter("visits").then(() => null, (cause: unknown) => cause as Problem);
  test("carry the class and the field that the service names", async () => {
    answering({ error: { class: "conflict", message: "the name visits is taken", field: "name" } }, 409);
    expect(await refusal()).toMatchObject({ status: 409, className: "conflict", field: "name", retryAfter: null });
    answering({ error: { class: "busy", message: "try again", field: null } }, 503, { "retry-after": "7" });
    expect(await refusal()).toMatchObject({ className: "busy", field: null, retryAfter: 7 });
    answering(["no refusal"], 502);
    expect(await refusal()).toMatchObject({ status: 502, className: "unknown", field: null });
    vi.unstubAllGlobals();
  });
  test("say what to do", () => {
    expect(sentence(refused("no answer", "unreachable", 0))).toBe("No answer. The service does not answer. Check that it runs and that this machine can reach it.");
    expect(sentence(new Problem(429, "too-many-requests", "too many requests", null, 3))).toContain("Try again in 3 s.");
    expect(sentence(new Error("broken"))).toBe("Broken.");
  });
});

describe("the form", () => {
  const typed: Values = {
    name: "visits", description: "", population: "everyone", every: "1h", every_other: "", steps: "8,760", epsilon: "1", delta: "1e-6", counted: "events", clamp: "", keys: "", key_source: "declared", max_keys: "", protect: "event",
    max_steps: "", min_gap: "", workload: "prefix-sum", workload_amount: "", mechanism: "", objective: "", neighbours: "", start: "", grace: "", grid: "", remember_ids: "",
  };
  test("what is usual becomes a small body, with no field that was not chosen", () => {
    expect(draftOf(typed)).toEqual({ body: { name: "visits", population: "everyone", every: "1h", steps: 8760, epsilon: 1, delta: 1e-6 }, mistakes: {} });
  });
  test("everything at once", () => {
    const { body, mistakes } = draftOf({ ...typed, every: "other", every_other: "6h", steps: "", counted: "values", clamp: "-5 to 10", keys: "a, b\nc,a", protect: "person", max_steps: "4", min_gap: "60", workload: "window", workload_amount: "24", grace: "30s", objective: "worst" });
    expect(mistakes).toEqual({});
    expect(body).toMatchObject({ every: "6h", steps: null, clamp: [-5, 10], keys: ["a", "b", "c"], max_steps: 4, min_gap: 60, workload: "window:24", grace: "30s", objective: "worst" });
  });
  test("persons and keys that are found", () => {
    expect(draftOf({ ...typed, counted: "persons", keys: "a, b", max_keys: "2", protect: "person", max_steps: "" }).body).toMatchObject({ distinct: true, keys: ["a", "b"], max_keys: 2 });
    expect(draftOf({ ...typed, counted: "persons", max_keys: "2" }).body).not.toHaveProperty("max_keys");
    const { body, mistakes } = draftOf({ ...typed, key_source: "found", keys: "a", protect: "person", max_steps: "3" });
    expect([body.discover, body.keys, body.max_steps, mistakes]).toEqual([{}, undefined, 3, {}]);
  });
  test.each([
    [{ name: "" }, "name"], [{ name: "a b" }, "name"], [{ epsilon: "" }, "epsilon"], [{ epsilon: "0" }, "epsilon"], [{ epsilon: "much" }, "epsilon"], [{ delta: "1" }, "delta"],
    [{ steps: "2.5" }, "steps"], [{ counted: "values", clamp: "10, 0" }, "clamp"], [{ counted: "values", clamp: "" }, "clamp"], [{ keys: "a, other" }, "keys"],
    [{ protect: "person", max_steps: "" }, "max_steps"], [{ every: "other", every_other: "soon" }, "every_other"], [{ workload: "decay", workload_amount: "1" }, "workload_amount"],
  ] as [Partial<Values>, string][])("%o is seen at %s", (change, field) => {
    expect(Object.keys(draftOf({ ...typed, ...change }).mistakes)).toEqual([field]);
  });
  test("a usual life", () => {
    expect(usualSteps("1h")).toBe(8760);
    expect(usualSteps("1s")).toBe(86_400);
    expect(usualSteps("")).toBe(1000);
  });
});

describe("the list of counters", () => {
  const all = [counter({ name: "b", latest: [release(5)] }), counter({ name: "a", latest: null, status: "ended" }), counter({ name: "c", description: "Orders in the north", latest: [release(7, "x"), release(90, "y")] })];
  const names = (by: Partial<Parameters<typeof arrange>[1]>) => arrange(all, { search: "", status: "", sort: "name", ...by }).map((each) => each.name);
  test("is searched and sorted", () => {
    expect(names({})).toEqual(["a", "b", "c"]);
    expect(names({ sort: "value" })).toEqual(["c", "b", "a"]);
    expect(names({ search: "NORTH orders" })).toEqual(["c"]);
    expect(names({ status: "ended" })).toEqual(["a"]);
    expect(headline(all[2]!)!.key).toBe("y");
  });
  test("reads pages one after another, and all of them where asked", async () => {
    const stock = Array.from({ length: 250 }, (_, i) => counter({ name: `n${String(i).padStart(3, "0")}` }));
    let calls = 0;
    const api = { counters: ({ limit, after }: { limit: number; after?: string }) => {
      calls += 1;
      const from = after === undefined ? 0 : stock.findIndex((each) => each.name > after);
      const page = stock.slice(from, from + limit);
      return Promise.resolve({ counters: page, total: stock.length, next: from + limit < stock.length ? page.at(-1)!.name : null });
    } } as unknown as Api;
    const list = new CounterList(api, 100);
    const signal = new AbortController().signal;
    expect((await list.page(2, signal)).map((each) => each.name)).toEqual(stock.slice(200).map((each) => each.name));
    expect(calls).toBe(3);
    await Promise.all([list.all(signal, () => undefined), list.all(signal, () => undefined)]);
    expect(calls).toBe(4);
    expect(list.known().length).toBe(250);
  });
});

test("shares of a budget fill the bar, and a plan takes no more than is left", () => {
  const population = { spent: { rho: 1, epsilon: 0, key_delta: 0 }, left: { rho: 3, epsilon: 0, key_delta: 0 } };
  expect(shares(population)).toEqual({ spent: 0.25, planned: 0, left: 0.75 });
  expect(shares(population, 10)).toEqual({ spent: 0.25, planned: 0.75, left: 0 });
  expect(shares({ spent: { rho: 0, epsilon: 1, key_delta: 0 }, left: { rho: 0, epsilon: 3, key_delta: 0 } })).toEqual({ spent: 0.25, planned: 0, left: 0.75 });
  expect(shares({ spent: { rho: 0, epsilon: 0, key_delta: 0 }, left: { rho: 0, epsilon: 0, key_delta: 0 } })).toEqual({ spent: 0, planned: 0, left: 0 });
});

test("budgets are told in the units of their total", () => {
  const base = { name: "p", unit: "event", neighbours: "add-remove", entries: [] };
  expect(budgetWords({ ...base, total: { epsilon: 4, delta: 1e-6, rho: null, key_delta: 0 }, spent: { rho: 1, epsilon: 2.5, key_delta: 0 }, left: { rho: 1, epsilon: 3.12, key_delta: 0 } })).toBe("ε 2.5 of 4 is spent, 3.12 is left, at δ = 10⁻⁶.");
  expect(budgetWords({ ...base, total: { epsilon: 2, delta: 0, rho: null, key_delta: 0 }, spent: { rho: 0, epsilon: 0, key_delta: 0 }, left: { rho: 0, epsilon: null, key_delta: 0 } })).toBe("ε 0 of 2 is spent, an unknown part is left, pure.");
  expect(budgetWords({ ...base, total: { epsilon: null, delta: null, rho: 2, key_delta: 1e-6 }, spent: { rho: 0.5, epsilon: null, key_delta: 2e-7 }, left: { rho: 1.5, epsilon: null, key_delta: 8e-7 } })).toBe("ρ 0.5 of 2 is spent, 1.5 is left. Of δ for keys that are found, 2\u202f×\u202f10⁻⁷ of 10⁻⁶ is spent.");
});
