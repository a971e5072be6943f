// SPDX-License-Identifier: Apache-2.0
// `npm run chaos -- [--rounds=N] [--seed=N] [file…]`: how often things go wrong (200 times by default; 20 in CI), and which chance
// decides when.

/** How often a suite repeats what has a random instant in it. */
export const rounds: number = Number(process.env["CHAOS_ROUNDS"] ?? 200);

/** What the chances of this run grow from. Printed in the names of tests, so that a run can be had again. */
export const seed: number = Number(process.env["CHAOS_SEED"] ?? Date.now() % 1_000_000);

/** A part of all rounds, for what takes longer or has fewer ways to go wrong; at least one. */
export const share = (part: number): number => Math.max(1, Math.round(rounds * part));
