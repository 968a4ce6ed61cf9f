import { describe, expect, test } from "vitest";
import { bounds, cadence, compact, margin, moment, number, parameter, parseDuration, percentOver, plural, scientific, span, times } from "../../src/format";
import { timeLabels } from "../../src/chart/time-labels";

describe("numbers", () => {
  test("whole numbers are grouped and never shortened", () => {
    expect(number(1234567)).toBe("1,234,567");
    expect(number(-1234)).toBe("\u22121,234");
    expect(number(0)).toBe("0");
    expect(number(-0.0001)).toBe("\u221210⁻⁴");
    expect(number(12.5)).toBe("12.5");
    expect(number(Number.NaN)).toBe("not a number");
  });

  test("margins are rounded up, and floating point does not push them further", () => {
    expect(margin(23.01)).toBe("24");
    expect(margin(24)).toBe("24");
    expect(margin(24.000000000000004)).toBe("24");
    expect(margin(1269.0001)).toBe("1,270");
    expect(margin(0.0312)).toBe("0.032");
    expect(margin(1.96)).toBe("2");
    expect(margin(0.3)).toBe("0.3");
    expect(margin(0)).toBe("0");
    expect(margin(Number.NaN)).toBe("unknown");
  });

  test("a margin never says less than it is", () => {
    for (let exponent = -4; exponent < 5; exponent += 1) {
      for (let lead = 1; lead < 10; lead += 0.037) {
        const value = lead * 10 ** exponent;
        expect(Number(margin(value).replaceAll(",", "").replace(/^10⁻(.)$/, (_, d) => `1e-${"⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(d)}`))).toBeGreaterThanOrEqual(value * (1 - 1e-9));
      }
    }
  });

  test("the ends of an interval are rounded outwards", () => {
    expect(bounds({ lower: 5783.975, upper: 5840.025 })).toEqual({ lower: "5,783", upper: "5,841" });
    expect(bounds({ lower: -0.251, upper: 0.251 })).toEqual({ lower: "\u22120.26", upper: "0.26" });
  });

  test("claims are rounded against us", () => {
    expect(percentOver(1.00125)).toBe("0.13\u202f%");
    expect(times(6.39)).toBe("6.3");
    expect(times(6.3)).toBe("6.3");
    expect(times(250.9)).toBe("250");
  });

  test("parameters and powers of ten", () => {
    expect(parameter(1e-6)).toBe("10⁻⁶");
    expect(parameter(2.5e-7)).toBe("2.5\u202f×\u202f10⁻⁷");
    expect(parameter(0.0125)).toBe("0.0125");
    expect(parameter(1)).toBe("1");
    expect(scientific(0)).toBe("0");
    expect(compact(12500)).toBe("12.5\u202fk");
    expect(compact(2e6)).toBe("2\u202fM");
    expect(compact(7500)).toBe("7,500");
    expect(plural(1, "step")).toBe("1 step");
    expect(plural(1000, "step")).toBe("1,000 steps");
  });
});

describe("time", () => {
  test("lengths are read as the service writes them", () => {
    expect(parseDuration("15m")).toBe(900);
    expect(parseDuration("1d12h")).toBe(129_600);
    expect(parseDuration("250ms")).toBe(0.25);
    for (const wrong of ["", "15", "m", "1x", "0s", "-1s", "1h,"]) expect(parseDuration(wrong)).toBeNull();
  });

  test("spans keep their two largest units", () => {
    expect(span(48)).toBe("48 s");
    expect(span(7500)).toBe("2 h 5 min");
    expect(span(3600)).toBe("1 h");
    expect(span(0)).toBe("0 s");
    expect(span(365 * 86_400)).toBe("1 year");
    expect(span(3650 * 86_400)).toBe("10 years");
  });

  test("cadence in words", () => {
    expect(cadence("1h")).toBe("every hour");
    expect(cadence("15m")).toBe("every 15 minutes");
    expect(cadence("90s")).toBe("every 90 seconds");
    expect(cadence(null)).toBe("by hand");
  });

  test("moments leave out seconds that are nought", () => {
    expect(moment(new Date(2026, 10, 15, 9, 5))).toBe("2026-11-15 09:05");
    expect(moment(new Date(2026, 10, 15, 9, 5, 7))).toBe("2026-11-15 09:05:07");
    expect(moment("nonsense")).toBe("unknown");
  });

  test("an axis says the day once, and again when it changes", () => {
    const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime() / 1000;
    expect(timeLabels([at(15, 22), at(15, 23), at(16, 0), at(16, 1)], 3600)).toEqual(["22:00\n15 Nov", "23:00", "00:00\n16 Nov", "01:00"]);
    expect(timeLabels([at(15, 0), at(16, 0)], 86_400)).toEqual(["15 Nov\n2026", "16 Nov"]);
  });
});
