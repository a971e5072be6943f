// SPDX-License-Identifier: Apache-2.0

/** What a figure must reach. */
export interface Target {
  readonly relation: "at most" | "at least";
  readonly value: number;
}

/** One measured number: every round's value, their middle, and whether that meets the target. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly rounds: readonly number[];
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly target?: Target;
  readonly verdict: "pass" | "short" | "for information";
}

/** Sums up the rounds of one measurement. Without a target the figure is for information only. */
export function figure(name: string, unit: string, rounds: readonly number[], target?: Target): Figure {
  if (rounds.length === 0) throw new Error(`${name}: nothing was measured`);
  const sorted = rounds.toSorted((a, b) => a - b);
  const middle = medianOf(sorted);
  const numbers = { rounds, median: middle, low: sorted[0] as number, high: sorted.at(-1) as number };
  if (target === undefined) return { name, unit, ...numbers, verdict: "for information" };
  return { name, unit, ...numbers, target, verdict: meets(middle, target) ? "pass" : "short" };
}

/** The value in the middle; between two, their mean. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
}

function meets(value: number, { relation, value: limit }: Target): boolean {
  return relation === "at most" ? value <= limit : value >= limit;
}

/** Divides round by round: what is compared was measured within the same second. */
export function ratios(numerators: readonly number[], denominators: readonly number[]): number[] {
  if (numerators.length !== denominators.length) throw new Error("a ratio needs as many rounds above as below");
  return numerators.map((value, round) => value / (denominators[round] as number));
}

const roundsOfRatio = 8;

/** Divides the sums of several rounds each: one round is too short for a busy machine. */
export function ratiosOfSums(numerators: readonly number[], denominators: readonly number[]): number[] {
  if (numerators.length !== denominators.length) throw new Error("a ratio needs as many rounds above as below");
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const blocks = Math.max(1, Math.floor(numerators.length / roundsOfRatio));
  return Array.from({ length: blocks }, (_, at) => {
    const [from, to] = [at * roundsOfRatio, (at + 1) * roundsOfRatio];
    return sum(numerators.slice(from, to)) / sum(denominators.slice(from, to));
  });
}

const resamples = 2000;

/**
 * The median of the ratios of rounds that were measured in turns, between the ends of its 95 % confidence interval: the ratios are drawn again and
 * again. A ratio is one of neighbors in time, so that what else the machine does falls on both, and the median leaves out those that fall on one. The same
 * rounds give the same interval.
 */
export function confidenceOfRatio(numerators: readonly number[], denominators: readonly number[]): number[] {
  const pairs = ratios(numerators, denominators);
  let seed = 1;
  const draw = (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return pairs[Math.floor((seed / 2 ** 32) * pairs.length)] ?? Number.NaN;
  };
  const drawn = Array.from({ length: resamples }, () => medianOf(pairs.map(draw)));
  const sorted = drawn.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (resamples - 1))] ?? Number.NaN;
  return [at(0.025), medianOf(pairs), at(0.975)];
}
