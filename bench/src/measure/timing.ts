// SPDX-License-Identifier: Apache-2.0

/** How long and how often to measure. */
export interface Effort {
  readonly rounds: number;
  /** How long each contender runs in a round. */
  readonly sliceMs: number;
  /** How long each contender runs before the first round. */
  readonly warmUpMs: number;
}

let sink = 0;

/**
 * Microseconds of processor time a call takes, round by round. All contenders are warm before the first round and take
 * turns in each. The time of this thread alone is counted: what other programs do meanwhile shows less than on a clock.
 */
export function timeAll<Name extends string>(
  contenders: Readonly<Record<Name, () => { readonly length: number }>>,
  { rounds, sliceMs, warmUpMs }: Effort,
): Record<Name, number[]> {
  const names = Object.keys(contenders) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  // In turns too: code the compiler optimised for one caller alone would be faster than it is in a real program.
  for (let turn = 0; turn < 4; turn++) for (const name of names) timeOne(contenders[name], warmUpMs / 4);
  for (let round = 0; round < rounds; round++) {
    for (const name of names) times[name].push(timeOne(contenders[name], sliceMs));
  }
  if (sink < 0) throw new Error("unreachable: keeps the results of the calls alive");
  return times;
}

function timeOne(run: () => { readonly length: number }, forMs: number): number {
  const started = performance.now();
  const before = process.threadCpuUsage();
  let calls = 0;
  do {
    for (let i = 0; i < 8; i++) sink = (sink + run().length) & 0xffff;
    calls += 8;
  } while (performance.now() - started < forMs);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / calls;
}
