// SPDX-License-Identifier: Apache-2.0

/** A time as metadata carries it: RFC 3339 in UTC, to the second. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
