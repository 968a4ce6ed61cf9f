/** The error of a planned counter, by step. */

import uPlot from "uplot";
import { h } from "../dom";
import type { Preview } from "../types";
import { attend, axes, palette } from "./axes";

export interface Profile {
  element: HTMLElement;
  /** Draws standard errors, each `factor` times as large. */
  show(profile: Preview["profile"], factor: number, label: string): void;
}

export function profileChart(signal: AbortSignal): Profile {
  const box = h("div", { class: "profile", attrs: { role: "img" } });
  let colours = palette();
  const plot = new uPlot(
    {
      width: 300,
      height: 160,
      padding: [10, 10, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: (_plot, low, high) => (low === high ? [low, low + 1] : [low, high]) },
        y: { range: (_plot, _low, high) => [0, high === null || high === 0 ? 1 : high * 1.15] },
      },
      axes: axes(() => colours, false),
      series: [{}, { stroke: () => colours.accent, width: 1.75, fill: () => colours.band, points: { show: (self) => self.data[0].length < 3 } }],
    },
    [[], []],
    box,
  );
  attend(plot, box, () => 160, () => (colours = palette()), signal);
  return {
    element: box,
    show(profile, factor, label) {
      box.setAttribute("aria-label", label);
      plot.setData([profile.map((p) => p.step + 1), profile.map((p) => factor * p.standard_error)]);
    },
  };
}
