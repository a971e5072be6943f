// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseWrites } from "./write-counts.ts";

const line = (verb: string, resource: string, more: string, count: string): string =>
  `apiserver_request_total{code="200",group="",resource="${resource}",${more},verb="${verb}",version="v1"} ${count}`;

test("writes are counted by verb and resource, whatever they were answered with", () => {
  const metrics = [
    "# TYPE apiserver_request_total counter",
    line("GET", "pairs", 'subresource=""', "9"),
    line("WATCH", "pairs", 'subresource=""', "1"),
    line("APPLY", "configmaps", 'scope="namespace",subresource=""', "20"),
    line("APPLY", "configmaps", 'scope="resource",subresource=""', "1"),
    line("APPLY", "pairs", 'subresource="status"', "1.2e+01"),
    line("PUT", "pairs", 'subresource=""', "4"),
    'apiserver_request_total_other{verb="PUT"} 4',
  ].join("\n");
  assert.deepEqual(parseWrites(metrics), { "APPLY configmaps": 21, "APPLY pairs/status": 12, "PUT pairs": 4 });
});
