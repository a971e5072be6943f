// SPDX-License-Identifier: Apache-2.0
import { requestEntityTooLarge } from "@purlin/kube-objects/errors";

/**
 * Most values (members, items, lists and objects) that the body of a request may have. Kubernetes has no such limit, but its storage takes
 * no object of more than 1.5 MB, and those have fewer as a rule.
 */
export const maxValues = 100_000;

/** Throws 413 for too many values. */
export function requireFewValues(values: number): void {
  if (values > maxValues) {
    throw requestEntityTooLarge(
      `limit is ${maxValues} values (fields, items, lists and objects together): split the object into several smaller ones`,
    );
  }
}
