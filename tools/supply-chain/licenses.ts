// SPDX-License-Identifier: Apache-2.0
// Which licenses dependencies may have: permissive ones that the Apache-2.0 license of this repository can include.

const allowed: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "PSF-2.0",
]);

/** Whether an SPDX expression can be met with allowed licenses: all parts of an AND, one part of an OR. */
export function isAllowedLicense(expression: string | undefined): boolean {
  if (expression === undefined) return false;
  const plain = expression.replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(plain)) return false;
  return plain.split(" OR ").some((part) => part.split(" AND ").every((license) => allowed.has(license.trim())));
}
