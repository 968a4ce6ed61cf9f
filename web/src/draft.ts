/** Turns the form into a request. Finds mistakes that need no service; the service finds the rest. Pure. */

import { parseDuration } from "./format";
import type { NewCounter } from "./types";

type FieldName =
  | "name" | "description" | "population" | "every" | "every_other" | "steps" | "epsilon" | "delta" | "counted" | "clamp" | "keys" | "key_source" | "max_keys" | "protect"
  | "max_steps" | "min_gap" | "workload" | "workload_amount" | "mechanism" | "objective" | "neighbours" | "start" | "grace" | "grid" | "remember_ids";

/** The fields of the form as text. */
export type Values = Record<FieldName, string>;

export interface Reading {
  body: NewCounter;
  mistakes: Record<string, string>;
}

export function draftOf(values: Values): Reading {
  const mistakes: Record<string, string> = {};
  const real = (field: FieldName, example: string): number => {
    const text = values[field].trim().replace(/^\u2212/, "-");
    const number = text === "" ? Number.NaN : Number(text);
    if (!Number.isFinite(number)) mistakes[field] ??= `A number is needed, such as ${example}.`;
    return number;
  };
  const integer = (field: FieldName): number => {
    const number = Number(values[field].trim().replaceAll(/[\s,_]/g, ""));
    if (!Number.isSafeInteger(number) || number < 1) mistakes[field] ??= "A positive integer is needed.";
    return number;
  };
  const given = (field: FieldName) => values[field].trim() !== "";
  const duration = (field: FieldName): string => {
    const text = values[field].trim();
    if (parseDuration(text) === null) mistakes[field] ??= "A length of time is needed, such as 30s, 15m, 1h or 1d.";
    return text;
  };

  const name = values.name.trim();
  const body: NewCounter = { name, epsilon: real("epsilon", "1"), delta: real("delta", "1e-6") };
  if (body.epsilon <= 0) mistakes["epsilon"] = "ε must be above 0.";
  if (body.delta < 0 || body.delta >= 1) mistakes["delta"] = "δ must be from 0 to below 1.";

  if (name === "") mistakes["name"] = "A counter needs a name.";
  else if (!/^[A-Za-z0-9._-]{1,100}$/.test(name)) mistakes["name"] = "A name has 1 to 100 letters, digits, and the signs - _ .";
  if (given("description")) body.description = values.description.trim();
  body.population = values.population;

  body.every = values.every === "" ? null : values.every === "other" ? duration("every_other") : values.every;
  body.steps = given("steps") ? integer("steps") : null;

  const keys = values.keys.split(/[\n,]/).map((key) => key.trim()).filter(Boolean);
  if (values.key_source === "found") body.discover = {};
  else if (keys.length > 0) {
    body.keys = [...new Set(keys)];
    if (body.keys.includes("other")) mistakes["keys"] = "“other” is added automatically, for events with any other key.";
  }
  if (values.counted === "values") {
    const bounds = values.clamp.split(/\s*(?:,|\bto\b)\s*/).map((text) => Number(text.trim().replace(/^\u2212/, "-")));
    const [low, high] = bounds;
    if (bounds.length !== 2 || !given("clamp") || !Number.isFinite(low) || !Number.isFinite(high) || low! >= high!) mistakes["clamp"] = "Two numbers are needed, the smaller first, such as 0, 10.";
    else body.clamp = [low!, high!];
  }
  if (values.counted === "persons") {
    body.distinct = true;
    if (body.keys && given("max_keys")) body.max_keys = integer("max_keys");
  } else if (values.protect === "person") {
    body.max_steps = integer("max_steps");
    if (given("min_gap")) body.min_gap = integer("min_gap");
  }

  if (values.workload === "window") body.workload = `window:${integer("workload_amount")}`;
  if (values.workload === "decay") {
    const factor = real("workload_amount", "0.99");
    if (!(factor > 0 && factor < 1)) mistakes["workload_amount"] ??= "A number between 0 and 1 is needed, such as 0.99.";
    body.workload = `decay:${factor}`;
  }
  if (given("mechanism")) body.mechanism = values.mechanism.trim();
  if (given("objective")) body.objective = values.objective;
  if (given("neighbours")) body.neighbours = values.neighbours;
  if (given("start")) body.start = new Date(values.start).toISOString();
  if (given("grace")) body.grace = duration("grace");
  if (given("grid")) body.grid = real("grid", "0.01");
  if (given("remember_ids")) body.remember_ids = integer("remember_ids");
  return { body, mistakes };
}

/** A usual number of steps: a day of seconds, a month of minutes, a year of hours, ten years of days. */
export function usualSteps(every: string): number | null {
  const seconds = parseDuration(every);
  if (seconds === null) return 1000;
  if (seconds < 60) return Math.round(86_400 / seconds);
  if (seconds < 3600) return Math.round((30 * 86_400) / seconds);
  if (seconds < 86_400) return Math.round((365 * 86_400) / seconds);
  return Math.round((3650 * 86_400) / seconds);
}
