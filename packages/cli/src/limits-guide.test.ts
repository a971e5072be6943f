// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the page on limits, and compares its list of kinds with those that are served.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createHttpsTransport } from "@purlin/kube-client";
import { playPage } from "../test/play-guide.ts";
import { TestIo } from "../test/test-io.ts";
import { readAccess } from "./cluster/cluster-client.ts";

const page = "docs/guide/limits.md";

test("the page on limits does what it says", async () => {
  await playPage(page, {
    mask: (text) => text.replaceAll(/\b(\d+[smh])+$/gm, "AGE").replaceAll(/ {2,}(?=\S)/g, "  "),
    async finally(folder) {
      assert.deepEqual(kindsOnPage(), await servedKinds(join(folder, ".purlin/kubeconfig")));
    },
  });
});

type Kinds = Record<string, readonly string[]>;

function sortedKinds(kinds: Iterable<readonly [string, readonly string[]]>): Kinds {
  return Object.fromEntries([...kinds].map(([group, names]) => [group, names.toSorted()] as const).toSorted());
}

/** The rows of the page's table. */
function kindsOnPage(): Kinds {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `([a-z0-9./]*v\d)` \| ([A-Z][\w, ]+) \|$/gm)];
  return sortedKinds(rows.map(([, group = "", names = ""]) => [group, names.split(", ")]));
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources: readonly { readonly responseKind: { readonly kind: string } }[];
    }[];
  }[];
}

/** The kinds of discovery that are not those of Crossplane or of Purlin. */
async function servedKinds(kubeconfig: string): Promise<Kinds> {
  const transport = createHttpsTransport(await readAccess([kubeconfig], { args: [], options: {} }, new TestIo()));
  try {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const lists = await Promise.all(
      ["/api", "/apis"].map((path) => transport.request({ method: "GET", path, accept })),
    );
    const groups = lists.flatMap(({ body }) => (body as unknown as Discovery).items);
    const own = groups.filter(({ metadata: { name = "" } }) => !/(crossplane\.io|purlin\.dev)$/.test(name));
    return sortedKinds(
      own.flatMap(({ metadata: { name = "" }, versions }) =>
        versions.map(({ version, resources }) => {
          const kinds = resources.map(({ responseKind: { kind } }) => kind);
          return [name === "" ? version : `${name}/${version}`, kinds] as const;
        }),
      ),
    );
  } finally {
    await transport.close();
  }
}
