// SPDX-License-Identifier: Apache-2.0

// The CRDs of our kinds.
export { compositionCrds, keptCrds } from "./crds/composition-crds.ts";
