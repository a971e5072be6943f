// SPDX-License-Identifier: Apache-2.0
import { authorizerFunctions } from "./authorizer.ts";
import { cidrFunctions } from "./cidr.ts";
import { extendedListFunctions } from "./extended-lists.ts";
import { formatFunctions } from "./format.ts";
import { type FunctionDecl, mergeFunctions } from "./function.ts";
import { ipFunctions } from "./ip.ts";
import { kubernetesListFunctions } from "./kubernetes-lists.ts";
import { mapInsertFunctions } from "./map-insert.ts";
import { optionalFunctions } from "./optional.ts";
import { quantityFunctions } from "./quantity.ts";
import { regexFunctions } from "./regex.ts";
import { semverFunctions } from "./semver.ts";
import { setFunctions } from "./sets.ts";
import { standardFunctions } from "./standard.ts";
import { stringFunctions } from "./strings.ts";
import { urlFunctions } from "./url.ts";

/** Every function a rule can call, in the order in which Kubernetes 1.36 declares them. */
export const functions: ReadonlyMap<string, FunctionDecl> = mergeFunctions([
  standardFunctions,
  urlFunctions,
  regexFunctions,
  kubernetesListFunctions,
  authorizerFunctions,
  optionalFunctions,
  quantityFunctions,
  stringFunctions,
  setFunctions,
  ipFunctions,
  cidrFunctions,
  formatFunctions,
  mapInsertFunctions,
  semverFunctions,
  extendedListFunctions,
]);
