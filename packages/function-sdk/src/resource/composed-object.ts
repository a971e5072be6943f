// SPDX-License-Identifier: Apache-2.0
import { KubeObject } from "./kube-object.ts";
import { cleanModel, type Model } from "./model.ts";

/** A composed resource, or any other object a function meets. */
export class ComposedObject extends KubeObject {
  /**
   * Wraps a copy of a typed model, without what a generated model carries but nobody wants to apply: its status, empty
   * metadata and unset times.
   */
  static from(model: Model | object): ComposedObject {
    return new ComposedObject(cleanModel(model));
  }
}
