// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";

const written = ["1.0", "1e0", "10e-1", "1.5", "1.50", "-0", "-1.0", "1E+1", "3000000000", "3e9", "0.1e1"];

/** An object as text, with every 7777 written otherwise. */
const withNumber = (object: object, literal: string): string => JSON.stringify(object).replaceAll("7777", literal);

/** The result or the error, without the invalid object, whose numbers the servers print differently. */
const brief = (body: Loose): unknown =>
  body.message?.replace(/ is invalid: patch: Invalid value: .*(?=json: )/s, ": ") ?? [body.kind, body.spec, body.count];

/** Numbers that are whole but not written as integers: typed fields refuse most of them, the others are read as what they are worth. */
export const fractionCases: readonly Case[] = [
  scenario("integers of built-in objects written as fractions", async (s) => {
    for (const [at, literal] of written.entries()) {
      const scaled = deployment(`d${at}`);
      scaled.spec.replicas = 7777;
      await s.post(inGroup(s, "apps/v1/deployments"), withNumber(scaled, literal), { part: brief, title: literal });
      const surging = deployment(`s${at}`);
      surging.spec.strategy = { rollingUpdate: { maxSurge: 7777 } };
      await s.post(inGroup(s, "apps/v1/deployments"), withNumber(surging, literal), { part: brief, title: literal });
    }
    const metadata = { name: "e" };
    const involvedObject = { kind: "Pod", name: "p", namespace: s.namespace };
    const event = { apiVersion: "v1", kind: "Event", metadata, involvedObject, count: 7777 };
    await s.post(core(s, "events"), withNumber(event, "2.0"), { part: brief });
    const two = deployment("two");
    two.spec.replicas = 7777;
    two.spec.paused = "yes";
    await s.post(inGroup(s, "apps/v1/deployments"), withNumber(two, "1.0"), {
      part: brief,
      title: "the first is reported",
    });
    const numbered = { ...configMap("numbered"), metadata: { name: "numbered", generation: 7777 } };
    await s.post(core(s, "configmaps"), withNumber(numbered, "1.0"), { part: brief });
    await s.post(core(s, "configmaps"), withNumber({ ...configMap("unknown"), nope: 7777 }, "1.0"), { part: brief });
  }),

  scenario("integers of patches and options written as fractions", async (s) => {
    const path = inGroup(s, "apps/v1/deployments");
    await s.post(path, deployment("d"), { quiet: true });
    for (const literal of ["1.0", "1e0", "2.5", "3"]) {
      const patch = `{"spec":{"replicas":${literal}}}`;
      await s.patch(`${path}/d`, "merge", patch, { part: brief, title: literal });
      await s.patch(`${path}/d`, "strategic", patch, { part: brief, title: literal });
      await s.patch(
        `${path}/d?fieldManager=m&force=true`,
        "apply",
        `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},${patch.slice(1)}`,
        {
          part: brief,
          title: literal,
        },
      );
      await s.put(`${path}/d/scale`, `{"metadata":{"name":"d"},"spec":{"replicas":${literal}}}`, {
        part: brief,
        title: literal,
      });
    }
    await s.patch(`${path}/d`, "merge", '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":30.0}}}}', {
      part: brief,
    });
    await s.delete(`${path}/d`, '{"gracePeriodSeconds":1.0}', { part: brief });
    await s.delete(`${path}/d`, '{"gracePeriodSeconds":1}', { quiet: true });
  }),

  scenario("numbers of JSON patches written as fractions", async (s) => {
    const [deployments, metadata] = [inGroup(s, "apps/v1/deployments"), { name: "d" }];
    await s.post(deployments, { ...deployment("d"), metadata }, { quiet: true });
    await s.post(widgets(s), widget("w", { big: 1, ratio: 1.5, port: 1 }), { quiet: true });
    const change = async (path: string, title: string, ...operations: string[]): Promise<void> => {
      await s.patch(path, "json", `[${operations.join(",")}]`, { part: brief, title });
    };
    const op = (name: string, path: string, value: string): string =>
      `{"op":"${name}","path":"${path}","value":${value}}`;
    for (const literal of ["1.0", "1e0", "2.5", "3"]) {
      await change(`${deployments}/d`, literal, op("replace", "/spec/replicas", literal));
      await change(`${deployments}/d/scale`, literal, op("replace", "/spec/replicas", literal));
      await change(widgets(s, "w"), literal, op("replace", "/spec/big", literal));
      await change(widgets(s, "w"), literal, op("replace", "/spec/ratio", literal));
      await change(widgets(s, "w"), literal, op("replace", "/spec/port", literal));
    }
    const surge = "/spec/strategy/rollingUpdate/maxSurge";
    await change(`${deployments}/d`, "in what is not typed", op("add", surge, "1.0"));
    await change(
      `${deployments}/d`,
      "gone again",
      op("add", "/spec/replicas", "2.0"),
      op("add", "/spec/replicas", "2"),
    );
    const back = '{"op":"copy","from":"/metadata/annotations","path":"/spec/replicas"}';
    await change(`${deployments}/d`, "copied", op("add", "/metadata/annotations", "1.0"), back);
    for (const literal of ["3", "3.0", "3e0", "30e-1"]) {
      await change(`${deployments}/d`, `test ${literal}`, op("test", "/spec/replicas", literal));
      await change(widgets(s, "w"), `test ${literal}`, op("test", "/spec/big", literal));
    }
    for (const literal of ["1.5", "1.50", "15e-1"]) {
      await s.patch(widgets(s, "w"), "merge", '{"spec":{"ratio":1.5}}', { quiet: true });
      await change(widgets(s, "w"), `test ${literal}`, op("test", "/spec/ratio", literal));
    }
    await change(widgets(s, "w"), "test in a whole", op("test", "/spec/port", "3.0"));
  }),

  scenario("integers of custom objects written as fractions", async (s) => {
    for (const [at, literal] of written.entries()) {
      await s.post(widgets(s), withNumber(widget(`w${at}`, { big: 7777 }), literal), {
        part: brief,
        title: literal,
      });
      await s.post(widgets(s), withNumber(widget(`n${at}`, { ratio: 7777 }), literal), { part: brief, title: literal });
      await s.post(widgets(s), withNumber(widget(`p${at}`, { port: 7777 }), literal), { part: brief, title: literal });
    }
    await s.post(widgets(s), withNumber(widget("huge", { ratio: 7777 }), "1e400"), { part: brief });
    await s.patch(widgets(s, "w0"), "merge", '{"spec":{"big":2.0}}', { part: brief });
    const numbered = { ...widget("numbered"), metadata: { name: "numbered", generation: 7777 } };
    await s.post(widgets(s), withNumber(numbered, "1.0"), { part: brief });
  }),
];
