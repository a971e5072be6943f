// SPDX-License-Identifier: Apache-2.0
import { KubeObject } from "./kube-object.ts";
import { cleanModel, type Model } from "./model.ts";

/** A composed resource, or any other object a function meets. */
export class ComposedObject extends KubeObject {
  /**
   * Wraps a copy of a typed model, without fields of a generated model that must not be applied: its status, empty
   * metadata and unset times.
   */
  static from(model: Model | object): ComposedObject {
    return new ComposedObject(cleanModel(model));
  }
}
