import { describe, expect, test } from "vitest";
import { Curves, firstRange, ranges, rangeStart, thin } from "../../src/series";
import { sparklinePaths } from "../../src/chart/sparkline";
import { backoff, eventParser, type ServerEvent } from "../../src/sse";
import { stepsBetween } from "../../src/steps";
import type { Release } from "../../src/types";

const release = (step: number, key: string | null = null): Release => ({ step, time: null, epoch: 0, key, value: step, standard_error: 1, lower: step - 2, upper: step + 2 });

describe("server-sent events", () => {
  const text = ": a comment\n\nevent: release\nid: 7\ndata: {\"step\":7}\n\nevent: release\r\nid: 8\r\ndata: one\r\ndata: two\r\n\r\ndata:bare\n\nevent: end\ndata: {}\n\n";
  const expected: ServerEvent[] = [
    { type: "release", id: "7", data: '{"step":7}' },
    { type: "release", id: "8", data: "one\ntwo" },
    { type: "message", id: "8", data: "bare" },
    { type: "end", id: "8", data: "{}" },
  ];

  test("are the same however the network cuts them", () => {
    for (let size = 1; size <= text.length; size += 1) {
      const parse = eventParser();
      const events: ServerEvent[] = [];
      for (let at = 0; at < text.length; at += size) events.push(...parse(text.slice(at, at + size)));
      expect(events).toEqual(expected);
    }
  });

  test("an event without data, or cut off before its end, is none", () => {
    const parse = eventParser();
    expect(parse("event: release\nid: 3\n\n")).toEqual([]);
    expect(parse("data: half")).toEqual([]);
  });

  test("waits double up to half a minute, never nothing", () => {
    expect(backoff(0, 0)).toBe(1000);
    expect(backoff(0, 1)).toBe(500);
    expect(backoff(3, 0)).toBe(8000);
    expect(backoff(50, 0)).toBe(30_000);
  });
});

describe("curves", () => {
  test("thinning keeps the ends, the order and the limit", () => {
    for (const count of [1, 2, 3, 10, 11, 999]) {
      for (const limit of [2, 3, 10, 100]) {
        const all = Array.from({ length: count }, (_, i) => release(i));
        const kept = thin(all, limit);
        expect(kept.length).toBeLessThanOrEqual(Math.max(limit, 1));
        expect(kept.at(-1)).toBe(all.at(-1));
        expect(kept[0]).toBe(all[0]);
        expect(kept.map((r) => r.step)).toEqual([...kept.map((r) => r.step)].sort((a, b) => a - b));
      }
    }
  });

  test("thinning is even by step where points are not", () => {
    const uneven = [...Array.from({ length: 100 }, (_, i) => release(i * 100)), ...Array.from({ length: 900 }, (_, i) => release(9901 + i))];
    const steps = thin(uneven, 50).map((r) => r.step);
    const gaps = steps.slice(1).map((step, i) => step - steps[i]!);
    expect(Math.max(...gaps.slice(0, -1))).toBeLessThanOrEqual(400);
    expect(steps.length).toBeGreaterThan(30);
  });

  test("a step that comes twice, or late, stands once and in its place", () => {
    const curves = new Curves();
    curves.add([release(0), release(2), release(2), release(1), release(3, "a")]);
    expect(curves.get(null).map((r) => r.step)).toEqual([0, 1, 2]);
    expect(curves.get("a").map((r) => r.step)).toEqual([3]);
    expect(curves.get("b")).toEqual([]);
  });

  test("a page that stays open for weeks does not grow", () => {
    const curves = new Curves(100);
    for (let step = 0; step < 5000; step += 1) curves.add([release(step)]);
    expect(curves.get(null).length).toBeLessThanOrEqual(100);
    expect(curves.get(null)[0]!.step).toBe(0);
    expect(curves.get(null).at(-1)!.step).toBe(4999);
  });

  test("ranges suit the clock and the age of a counter", () => {
    expect(ranges(1, 5000).map((r) => r.label)).toEqual(["1 min", "5 min", "1 h", "All"]);
    expect(ranges(3600, 10).map((r) => r.label)).toEqual(["All"]);
    expect(ranges(null, 1500).map((r) => r.label)).toEqual(["100 steps", "1,000 steps", "All"]);
    expect(rangeStart("seconds:3600", 5000, 1)).toBe(1400);
    expect(rangeStart("steps:100", 50, null)).toBe(0);
    expect(rangeStart("all", 50, 1)).toBe(0);
    expect(firstRange(ranges(1, 5000), 5000, 1)).toBe("seconds:300");
    expect(firstRange(ranges(1, 100), 100, 1)).toBe("all");
  });

  test("a small curve stays in its box, and one point is no curve", () => {
    expect(sparklinePaths([release(1)])).toBeNull();
    const paths = sparklinePaths(Array.from({ length: 500 }, (_, i) => release(i)))!;
    const numbers = (paths.line + paths.band).match(/[\d.]+/g)!.map(Number);
    expect(Math.max(...numbers)).toBeLessThanOrEqual(160);
    expect(paths.band.endsWith("Z")).toBe(true);
  });

  test("whole steps between two moments", () => {
    const clock = { start: 1000, width: 100 };
    expect(stepsBetween(1000, 1300, clock)).toEqual({ first: 0, last: 2 });
    expect(stepsBetween(1001, 1299, clock)).toEqual({ first: 1, last: 1 });
    const none = stepsBetween(1010, 1090, clock);
    expect(none.last).toBeLessThan(none.first);
  });
});
