// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** One line of a table of reference answers: an expression and what Kubernetes 1.36 makes of it. */
export interface ReferenceCase {
  readonly expr: string;
  /** There is no old value. */
  readonly isNew?: boolean;
  readonly optOld?: boolean;
  readonly compile?: string;
  readonly plan?: string;
  readonly type?: string;
  readonly value?: string;
  readonly error?: string;
  readonly cost?: number;
  readonly min?: string;
  readonly max?: string;
}

const folder = new URL("../src/testdata/", import.meta.url);

/** The lines of a table in `testdata`. */
export function readTable<T>(name: string): readonly T[] {
  const text = readFileSync(new URL(`${name}.jsonl`, folder), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

/** The schema and the objects over which the expressions of all tables are evaluated. */
export function readSubject<T>(): T {
  return JSON.parse(readFileSync(new URL("subject.json", folder), "utf8")) as T;
}
