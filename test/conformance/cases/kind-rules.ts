// SPDX-License-Identifier: Apache-2.0
// Subresources of Pods and CertificateSigningRequests that change a part of the object.
import { type Case, scenario } from "../harness/case.ts";
import { core } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";

const amounts = (cpu: string, memory = "64Mi"): Loose => ({ requests: { cpu, memory }, limits: { cpu: "2", memory } });
const main = { name: "c", image: "i", resources: amounts("1") };
const debug = { name: "d", image: "busybox", targetContainerName: "c" };

const pod = (name: string): Loose => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [main] },
});

const ephemeral = (...ephemeralContainers: readonly Loose[]): Loose => ({ spec: { ephemeralContainers } });
const resized = (...containers: readonly Loose[]): Loose => ({ spec: { containers } });

export const kindRulesCases: readonly Case[] = [
  scenario("ephemeral containers of a Pod", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    await s.post(core(s, "pods"), pod("a"), { quiet: true });
    const path = `${core(s, "pods", "a")}/ephemeralcontainers`;
    await s.get(path);
    await s.patch(path, "strategic", ephemeral({ ...debug, targetContainerName: "nope" }));
    await s.patch(path, "strategic", ephemeral({ ...debug, ports: [{ containerPort: 80 }] }));
    await s.patch(path, "strategic", ephemeral({ ...debug, name: "c" }));
    await s.patch(path, "strategic", { ...ephemeral(debug), metadata: { labels: { a: "b" } } });
    await s.patch(path, "merge", ephemeral());
    await s.patch(core(s, "pods", "a"), "strategic", ephemeral({ name: "e", image: "busybox" }), { part: codeOf });
    await s.get(core(s, "pods", "a"));
  }),

  scenario("a Pod is resized", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    await s.post(core(s, "pods"), pod("a"), { quiet: true });
    const path = `${core(s, "pods", "a")}/resize`;
    await s.get(path);
    await s.patch(path, "strategic", {
      ...resized({ name: "c", resources: amounts("500m") }),
      metadata: { labels: { a: "b" } },
    });
    await s.patch(path, "strategic", resized({ name: "c", image: "other" }));
    await s.patch(path, "strategic", resized({ name: "other", image: "i" }));
    await s.patch(path, "strategic", resized({ name: "c", resources: amounts("2") }));
    await s.patch(path, "strategic", resized({ name: "c", resources: { requests: { "ephemeral-storage": "1Gi" } } }));
    await s.patch(path, "json", [{ op: "remove", path: "/spec/containers/0/resources/limits/cpu" }]);
    await s.patch(path, "json", [{ op: "remove", path: "/spec/containers/0/resources" }]);
    await s.get(core(s, "pods", "a"));
  }),
];

/** The whole message has the difference in the form of Go types. */
const codeOf = ({ code, reason }: Loose): Loose => ({ code, reason });
