// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { deployment, inGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";

const port = (containerPort: number, more: Loose = {}): Loose => ({ containerPort, ...more });
const twice = (env: Loose): readonly Loose[] => [
  { name: "A", value: "1" },
  { name: "A", ...env },
];

/** Containers of a Pod, some of which take what another has. */
const podSpecs: readonly Loose[] = [
  { containers: [{ name: "a", image: "a", ports: [port(1), port(1, { protocol: "UDP" })] }] },
  {
    containers: [
      { name: "a", image: "a", ports: [port(1)] },
      { name: "b", image: "b", ports: [port(1)] },
    ],
  },
  { containers: [{ name: "a", image: "a", ports: [port(1), port(1, { hostPort: 5 })] }] },
  {
    containers: [
      { name: "a", image: "a", ports: [port(1, { hostPort: 5 }), port(1, { hostPort: 5, hostIP: "1.2.3.4" })] },
    ],
  },
  {
    containers: [
      { name: "a", image: "a", ports: [port(1, { name: "web" })] },
      { name: "b", image: "b", ports: [port(2, { name: "web" })] },
    ],
  },
  {
    initContainers: [{ name: "i", image: "i", ports: [port(1, { name: "web" })] }],
    containers: [{ name: "a", image: "a", ports: [port(1, { name: "web" })] }],
  },
  { containers: [{ name: "a", image: "a", env: twice({ value: "2" }) }] },
  { containers: [{ name: "a", image: "a", env: twice({ value: "$(A)2" }) }] },
  { containers: [{ name: "a", image: "a", env: twice({ value: "$(A)" }) }] },
  { containers: [{ name: "a", image: "a", env: twice({ valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }) }] },
];

export const containerWarningCases: readonly Case[] = [
  scenario("containers that take from each other", async (s) => {
    const path = inGroup(s, "apps/v1/deployments");
    for (const [n, spec] of podSpecs.entries()) {
      const object = deployment(`d-${n}`);
      object.spec.template.spec = spec;
      await s.post(path, object, {
        title: `POST ${JSON.stringify(spec)}`,
        part: ({ message, kind }) => message ?? kind,
      });
    }
    const paused = { spec: { paused: true } };
    await s.patch(`${path}/d-1`, "merge", paused, { title: "PATCH the spec", part: ({ kind }) => kind });
    await s.patch(`${path}/d-1`, "merge", paused, { title: "PATCH nothing", part: ({ kind }) => kind });
  }),
];
