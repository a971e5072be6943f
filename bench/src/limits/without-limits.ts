// SPDX-License-Identifier: Apache-2.0
// Loaded into a program with `node --import`: functions that check and limit return at once. What the program is slower without this is
// what limits cost. Only a benchmark has such a switch.
import { registerHooks } from "node:module";
import { withoutChecks } from "./replacements.ts";

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!/\/packages\/[^/]+\/src\//.test(url) || loaded.source === undefined || loaded.source === null) return loaded;
    const source = withoutChecks(Buffer.from(loaded.source as Uint8Array).toString());
    return source === undefined ? loaded : { ...loaded, source };
  },
});
