// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";

/** An event about an object. */
export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** More annotations of the event, beside the one that names the controller. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Emits events about objects. Never blocks and never fails its caller. */
export interface EventRecorder {
  event(object: KubeObject, event: EventText): void;
  /**
   * The same recorder under another name of the reporting component. Events name the controller in an annotation: the
   * component itself by default.
   */
  with(source: string, controller?: string): EventRecorder;
}

/** Records nothing. */
export const noEvents: EventRecorder = { event() {}, with: () => noEvents };
