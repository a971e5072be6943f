// SPDX-License-Identifier: Apache-2.0
// What differs between the embedded server and the reference, and why. A case listed here that passes fails the run.
import { documentedDifferences } from "./documented/all-documented.ts";
import { knownDifferenceOf } from "./documented/documented-difference.ts";
import type { KnownDifference } from "./harness/verdict.ts";

/** Differences that stay: the product decided so. */
export const acceptedDifferences: readonly KnownDifference[] = [
  {
    case: "what a client accepts",
    asked: "GET accepting protobuf",
    reason: "responses are JSON or YAML, never protobuf; clients that accept others get JSON",
  },
  {
    case: "tables of built-in kinds",
    asked: "serviceaccounts",
    path: ".description",
    reason: "built-in schemas have no descriptions, and the descriptions of these columns come from them",
  },
  {
    case: "an integer written as a fraction",
    asked: "POST a field that a rule reads",
    reason: "1.0 is the integer 1 in schemas and in responses; only the rules of the reference see it as a fraction",
  },
  {
    case: "an applier of a HorizontalPodAutoscaler gives up a field while another one applies in the other version",
    asked: "the target is given up",
    reason:
      "a field that its only applier no longer mentions goes, and the default comes back; the reference keeps the value",
  },
  ...documentedDifferences.map(knownDifferenceOf),
];

/** Differences that go: what they show is not built yet. This list may only shrink. */
export const notBuiltYet: readonly KnownDifference[] = [];
