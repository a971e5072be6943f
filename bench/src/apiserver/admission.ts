// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { processorTime } from "../measure/process-usage.ts";
import { type Side, withBoth } from "./both.ts";
import type { CreateEffort } from "./creates.ts";
import { Http2Client } from "./http2-client.ts";
import { collections, objectOf } from "./objects.ts";

const clients = 16;
const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const quotas = "/api/v1/namespaces/default/resourcequotas";

/** What stands between a create and the store. */
interface Guard {
  /** Puts it into effect; the function that it resolves to removes it. */
  readonly enable: (side: Side) => Promise<() => Promise<void>>;
}

/** The processor time that a webhook and a quota add to a create, on both servers in turn. */
export async function admissionFigures(effort: CreateEffort): Promise<Figure[]> {
  await using webhook = await startWebhook();
  const guards: Readonly<Record<string, Guard>> = {
    none: { enable: async () => async () => {} },
    "a validating webhook": { enable: (side) => enableWebhook(side, webhook) },
    "a quota": { enable: enableQuota },
  };
  return await withBoth(async (both) => {
    const costs = new Map<string, number[]>();
    const rates = new Map<string, number[]>();
    for (let round = -1; round < effort.rounds; round++) {
      for (const [what, guard] of Object.entries(guards)) {
        for (const [name, side] of Object.entries(both)) {
          const disable = await guard.enable(side);
          const count = round === -1 ? effort.warmUp : effort.count;
          const { cost, rate } = await measure(side, { prefix: `${what.replaceAll(" ", "")}${round + 1}`, count });
          await disable();
          if (round < 0) continue;
          const key = `${name} ${what}`;
          costs.set(key, [...(costs.get(key) ?? []), cost]);
          rates.set(key, [...(rates.get(key) ?? []), rate]);
        }
      }
    }
    const added = (name: string, what: string): number[] =>
      (costs.get(`${name} ${what}`) ?? []).map((cost, round) => cost - (costs.get(`${name} none`)?.[round] ?? 0));
    return Object.keys(guards)
      .filter((what) => what !== "none")
      .flatMap((what) => {
        const [ours, pair] = [added("ours", what), added("pair", what)];
        const slowed = (name: string): number[] =>
          ratios(rates.get(`${name} ${what}`) ?? [], rates.get(`${name} none`) ?? []);
        return [
          figure(`admission: ${what}, processor time added to a create, embedded`, "µs", ours),
          figure(`admission: ${what}, processor time added to a create, kube-apiserver + etcd`, "µs", pair),
          figure(`admission: ${what}, added time, embedded ÷ pair`, "×", ratios(ours, pair), {
            relation: "at most",
            value: 1,
          }),
          figure(`admission: ${what}, creates/s by those without, embedded`, "×", slowed("ours")),
          figure(`admission: ${what}, creates/s by those without, kube-apiserver + etcd`, "×", slowed("pair")),
        ];
      });
  });
}

async function measure(
  { contender, load }: Side,
  { prefix, count }: { readonly prefix: string; readonly count: number },
): Promise<{ readonly cost: number; readonly rate: number }> {
  const used = (): number => contender.pids.reduce((sum, pid) => sum + processorTime(pid), 0);
  const before = used();
  const [seconds = 0] = await load.do({ job: "create", kind: "ConfigMap", prefix, count, clients });
  return { cost: ((used() - before) / count) * 1e6, rate: count / seconds };
}

interface Webhook extends AsyncDisposable {
  readonly clientConfig: object;
  /** How many reviews it has answered. */
  readonly calls: () => number;
}

/** A webhook that allows everything. */
async function startWebhook(): Promise<Webhook> {
  const authority = createAuthority({ commonName: "bench" });
  const pair = issueCertificate(authority, { commonName: "hook", ipAddresses: ["127.0.0.1"], usages: ["server"] });
  let calls = 0;
  const server = createServer({ key: pair.keyPem, cert: pair.certPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      calls += 1;
      const text = Buffer.concat(chunks).toString();
      const uid = /"uid":"([^"]+)"/.exec(text)?.[1] ?? "";
      const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: true } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(authority.certPem).toString("base64");
  return {
    clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
    calls: () => calls,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function enableWebhook({ contender }: Side, webhook: Webhook): Promise<() => Promise<void>> {
  const client = new Http2Client(contender.access);
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  await send(client, "POST", webhooks, {
    metadata: { name: "bench" },
    webhooks: [
      {
        ...{ name: "bench.example.org", clientConfig: webhook.clientConfig, rules: [rule] },
        ...{ sideEffects: "None", admissionReviewVersions: ["v1"] },
      },
    ],
  });
  const before = webhook.calls();
  const isCalled = async (): Promise<boolean> => {
    await send(client, "POST", `${collections.ConfigMap}?dryRun=All`, objectOf("ConfigMap", "probe"));
    return webhook.calls() > before;
  };
  while (!(await isCalled())) await delay(50);
  return () => disabled(client, `${webhooks}/bench`);
}

/** No controller runs beside kube-apiserver, so the status that admission reads is written here. */
async function enableQuota({ contender }: Side): Promise<() => Promise<void>> {
  const client = new Http2Client(contender.access);
  const name = "count/configmaps";
  await send(client, "POST", quotas, { metadata: { name: "bench" }, spec: { hard: { [name]: "1000000" } } });
  const status = { hard: { [name]: "1000000" }, used: { [name]: "1" } };
  await send(client, "PUT", `${quotas}/bench/status`, { metadata: { name: "bench" }, status });
  // The quota counts once it refuses an object of which there may be none.
  const none = { hard: { "count/secrets": "0" }, used: { "count/secrets": "0" } };
  await send(client, "POST", quotas, { metadata: { name: "probe" }, spec: { hard: none.hard } });
  await send(client, "PUT", `${quotas}/probe/status`, { metadata: { name: "probe" }, status: none });
  const secret = Buffer.from(JSON.stringify({ metadata: { name: "probe" } }));
  const path = "/api/v1/namespaces/default/secrets?dryRun=All";
  while ((await client.request("POST", path, secret)).code !== 403) await delay(50);
  await send(client, "DELETE", `${quotas}/probe`);
  return () => disabled(client, `${quotas}/bench`);
}

/** Removes what is in effect, and waits until the server has taken notice. */
async function disabled(client: Http2Client, path: string): Promise<void> {
  await send(client, "DELETE", path);
  await delay(1000);
  client.close();
}

async function send(client: Http2Client, method: string, path: string, object?: object): Promise<void> {
  const body = object === undefined ? undefined : Buffer.from(JSON.stringify(object));
  const { code } = await client.request(method, path, body);
  if (code >= 300) throw new Error(`${method} ${path}: ${code}`);
}
