// SPDX-License-Identifier: Apache-2.0
// Calls every desired resource ready that exists.
import { main, Ready, response } from "@purlin/function-sdk";
import { ttlOf } from "./ttl-of.ts";

await main((req) => {
  const rsp = response.to(req, { ttl: ttlOf(req) });
  for (const [name, desired] of rsp.desired?.resources ?? []) {
    if (req.observed?.resources.has(name)) desired.ready = Ready.READY_TRUE;
  }
  return rsp;
});
