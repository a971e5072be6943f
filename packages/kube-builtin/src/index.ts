// SPDX-License-Identifier: Apache-2.0

export { builtinKinds } from "./builtin-kinds.ts";
export { quotaRefusal } from "./quota/resource-quota.ts";
