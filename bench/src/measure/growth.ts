// SPDX-License-Identifier: Apache-2.0
import { medianOf } from "./figure.ts";

/**
 * How much a series grew: its last quarter by its second. The first is left out, because a collector takes its time to
 * find the size that suits the load.
 */
export function growth(series: readonly number[]): number {
  const quarter = Math.floor(series.length / 4);
  if (quarter === 0) throw new Error("growth needs four samples or more");
  return medianOf(series.slice(-quarter)) / medianOf(series.slice(quarter, 2 * quarter));
}
