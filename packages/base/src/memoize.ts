// SPDX-License-Identifier: Apache-2.0

/** A function of an object that does not change. Each result is kept for as long as its object is. */
export function memoize<K extends object, V extends object | string>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, V>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}
