// SPDX-License-Identifier: Apache-2.0
import { type FieldSet, fieldSetOfPaths } from "./field-set.ts";

/** The fields nobody ever owns: the type of the object, and the metadata the server sets or that identifies it. */
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
