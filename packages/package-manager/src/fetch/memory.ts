// SPDX-License-Identifier: Apache-2.0

/** Remembers the values used last. */
export interface Memory<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

/** Makes a memory for so many values. */
export function createMemory<T>(limit: number): Memory<T> {
  const values = new Map<string, T>();
  return {
    get(key) {
      const value = values.get(key);
      if (value === undefined) return undefined;
      values.delete(key);
      values.set(key, value);
      return value;
    },
    set(key, value) {
      values.delete(key);
      values.set(key, value);
      const [oldest] = values.keys();
      if (values.size > limit && oldest !== undefined) values.delete(oldest);
    },
  };
}
