// SPDX-License-Identifier: Apache-2.0

/**
 * The order in which Kubernetes prefers versions: v2, v1, v1beta2, v1beta1, v1alpha1, then names of any other form by the alphabet.
 * Negative when `a` comes first.
 */
export function compareApiVersions(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)];
  if (x === undefined || y === undefined) {
    return Number(x === undefined) - Number(y === undefined) || (a < b ? -1 : Number(a > b));
  }
  return y.stage - x.stage || y.major - x.major || y.minor - x.minor;
}

interface Parsed {
  readonly major: number;
  /** 2 stable, 1 beta, 0 alpha. */
  readonly stage: number;
  readonly minor: number;
}

const pattern = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/;

function parse(version: string): Parsed | undefined {
  const match = pattern.exec(version);
  if (match === null) return undefined;
  const [, major, stage, minor] = match;
  return { major: Number(major), stage: stage === undefined ? 2 : Number(stage === "beta"), minor: Number(minor ?? 0) };
}
