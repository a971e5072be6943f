// SPDX-License-Identifier: Apache-2.0
import { type FieldSet, fieldSetOfPaths } from "./field-set.ts";

/** Fields without an owner: the type of the object, and the metadata that the server sets or that identifies the object. */
export const neverOwned: FieldSet = fieldSetOfPaths([
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ["metadata", "name"],
  ["metadata", "namespace"],
  ["metadata", "creationTimestamp"],
  ["metadata", "selfLink"],
  ["metadata", "uid"],
  ["metadata", "clusterName"],
  ["metadata", "generation"],
  ["metadata", "managedFields"],
  ["metadata", "resourceVersion"],
]);
