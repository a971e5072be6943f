// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { textOf } from "@purlin/kube-objects/errors";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import type { UsageScene } from "./usage-scene.ts";

/** One behavior. */
export interface UsageCase {
  readonly title: string;
  /** No other case may run meanwhile. */
  readonly isAlone?: true;
  readonly run: (scene: UsageScene) => Promise<void>;
}

export const attempt: string = "usage.crossplane.io/deletion-attempt-with-policy";
export const composite: Readonly<Record<string, string>> = { "crossplane.io/composite": "xr" };

export function attemptOn(object: KubeObject | undefined): string | undefined {
  return object && annotationOf(object, attempt);
}

export async function refused(promise: Promise<unknown>, text: string): Promise<void> {
  await assert.rejects(promise, (error: unknown) => textOf(error).includes(text) || assert.fail(textOf(error)));
}
