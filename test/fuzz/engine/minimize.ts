// SPDX-License-Identifier: Apache-2.0

/** A smaller input that still fails in the same way. Tries for at most `budgetMs` of processor time. */
export async function minimize(
  input: Buffer,
  failsAlike: (candidate: Buffer) => Promise<boolean>,
  budgetMs = 2_000,
): Promise<Buffer> {
  const started = process.threadCpuUsage();
  const isOver = (): boolean => {
    const { user, system } = process.threadCpuUsage(started);
    return (user + system) / 1000 > budgetMs;
  };
  let smallest = input;
  for (let size = Math.ceil(input.length / 2); size >= 1 && !isOver(); size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length && !isOver(); ) {
      const candidate = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (await failsAlike(candidate)) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}
