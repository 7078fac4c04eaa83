// The suite on the local cloud and the virtual clock, with the real functions.
import { CASES } from '#test/conformance/cases.ts';
import { playAll } from '#test/conformance/play.ts';
import { VirtualStage } from '#test/conformance/virtual-stage.ts';

playAll('C165, C167, C168: on the virtual clock', CASES, async (runId) => new VirtualStage(runId));
