// SPDX-License-Identifier: Apache-2.0
// Loaded before the tests of a suite: properties draw from the seed in PROPERTY_SEED, so that a run can be repeated whole.
import { configureGlobal, readConfigureGlobal } from "fast-check";

const seed = Number(process.env["PROPERTY_SEED"]);
if (Number.isSafeInteger(seed)) configureGlobal({ ...readConfigureGlobal(), seed });
