package plan_test

import (
	"slices"
	"strings"
	"testing"
)

// family is one case of a family: what a container asks for, and what becomes of it.
type family struct {
	asks        string
	annotations m
	// wants is what the container asks for afterwards; empty for the same.
	wants string
	// env and annotated are added.
	env, annotated string
	// refused is in the problem; nothing else is looked at then.
	refused string
	// untouched is for what is no device.
	untouched bool
}

func check(t *testing.T, cases map[string]family) {
	t.Helper()
	p := hami(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := pod(limits("ray", tc.asks))
			if tc.annotations != nil {
				with(in, "metadata.annotations", tc.annotations)
			}
			if tc.refused != "" {
				r := planOf(t, p, in)
				if text := problems(r); !strings.Contains(text, tc.refused) || len(r.Operations()) > 0 {
					t.Errorf("problems %q, operations %v; want %q", text, r.Operations(), tc.refused)
				}
				return
			}
			out := apply(t, p, in)
			if tc.wants == "" {
				tc.wants = asked(t, in)
			}
			want := strings.Fields(tc.wants)
			slices.Sort(want)
			if got := asked(t, out); got != strings.Join(want, " ") {
				t.Errorf("asks for %s, want %s", got, want)
			}
			if got := env(out, "0"); got != tc.env {
				t.Errorf("variables %s, want %s", got, tc.env)
			}
			scheduler := "hami-scheduler"
			if tc.untouched {
				scheduler = "default-scheduler"
			}
			if got := at(out, "spec", "schedulerName"); got != scheduler {
				t.Errorf("scheduler %s, want %s", got, scheduler)
			}
			if tc.annotated != "" {
				key, value, _ := strings.Cut(tc.annotated, "=")
				if got := at(out, "metadata", "annotations", key); got != value {
					t.Errorf("annotation %s is %v, want %s", key, got, value)
				}
			}
		})
	}
}

// TestNVIDIA: the table of worked examples.
func TestNVIDIA(t *testing.T) {
	check(t, map[string]family{
		"count, memory and cores":  {asks: "nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30"},
		"whole device":             {asks: "nvidia.com/gpu=1", wants: "nvidia.com/gpu=1 nvidia.com/gpucores=100"},
		"memory only":              {asks: "nvidia.com/gpumem=3k", wants: "nvidia.com/gpu=1 nvidia.com/gpumem=3k"},
		"cores only":               {asks: "nvidia.com/gpucores=30", wants: "nvidia.com/gpu=1 nvidia.com/gpucores=30"},
		"half of a device":         {asks: "nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50"},
		"all memory by percentage": {asks: "nvidia.com/gpumem-percentage=100", wants: "nvidia.com/gpu=1 nvidia.com/gpucores=100 nvidia.com/gpumem-percentage=100"},
		"zero":                     {asks: "nvidia.com/gpu=0", untouched: true},
		"too many cores":           {asks: "nvidia.com/gpu=1 nvidia.com/gpucores=150", refused: "container ray: nvidia.com/gpucores: 150 must be from 0 to 100"},
		"bytes":                    {asks: "nvidia.com/gpumem=8Gi", refused: "container ray: nvidia.com/gpumem: 8Gi must be a whole number of units of 1 MiB without a suffix: for 8Gi write 8192"},
		"percentage":               {asks: "nvidia.com/gpumem-percentage=101", refused: "101 must be from 1 to 100"},
		"MIG profile":              {asks: "nvidia.com/mig-1g.10gb=2", untouched: true},
		"priority":                 {asks: "nvidia.com/gpu=1 nvidia.com/priority=1", wants: "nvidia.com/gpu=1 nvidia.com/gpucores=100 nvidia.com/priority=1", env: "CUDA_TASK_PRIORITY=1"},
		"priority alone":           {asks: "nvidia.com/priority=1", untouched: true},
		"percentage of zero":       {asks: "nvidia.com/gpu=1 nvidia.com/gpumem-percentage=0", wants: "nvidia.com/gpu=1 nvidia.com/gpucores=100 nvidia.com/gpumem-percentage=0"},
		"a fraction":               {asks: "nvidia.com/gpu=500m", refused: "500m must be a whole number"},
		"below zero":               {asks: "nvidia.com/gpumem=-1", refused: "-1 must not be negative"},
		"beyond all numbers":       {asks: "nvidia.com/gpumem=1e30", refused: "1e30 must be a whole number"},
	})
}

// TestFamilies: what HAMi makes of the other families, or the difference that is meant.
func TestFamilies(t *testing.T) {
	check(t, map[string]family{
		"amd":                   {asks: "amd.com/gpu=1 amd.com/gpumem=16k amd.com/gpucores=50"},
		"amd, cores":            {asks: "amd.com/gpu=1 amd.com/gpucores=101", refused: "101 must be from 1 to 100"},
		"amd, memory only":      {asks: "amd.com/gpumem=100"},
		"cambricon":             {asks: "cambricon.com/vmlu=1 cambricon.com/mlu.smlu.vmemory=10 cambricon.com/mlu.smlu.vcore=20"},
		"hygon":                 {asks: "hygon.com/dcunum=1 hygon.com/dcumem=2k hygon.com/dcucores=15"},
		"kunlun":                {asks: "kunlunxin.com/xpu=2"},
		"metax":                 {asks: "metax-tech.com/gpu=1"},
		"enflame":               {asks: "enflame.com/gcu=1"},
		"vastai":                {asks: "vastaitech.com/va=1"},
		"biren":                 {asks: "birentech.com/gpu=1"},
		"mthreads, one":         {asks: "mthreads.com/vgpu=1", wants: "mthreads.com/sgpu-core=16 mthreads.com/sgpu-memory=96 mthreads.com/vgpu=1"},
		"mthreads, two":         {asks: "mthreads.com/vgpu=2", wants: "mthreads.com/sgpu-core=32 mthreads.com/sgpu-memory=192 mthreads.com/vgpu=2", annotated: "mthreads.com/request-gpu-num=2"},
		"mthreads, memory":      {asks: "mthreads.com/vgpu=1 mthreads.com/sgpu-memory=32"},
		"mthreads, odd memory":  {asks: "mthreads.com/vgpu=1 mthreads.com/sgpu-memory=33", refused: "33 must be one of 2, 4, 8, 16, 32, 64, 96"},
		"iluvatar, one":         {asks: "iluvatar.ai/BI-V150-vgpu=1", env: "SOL_CONTINER_NAME=ray"},
		"iluvatar, two":         {asks: "iluvatar.ai/MR-V100-vgpu=2", wants: "iluvatar.ai/MR-V100-vgpu=2 iluvatar.ai/MR-V100.vCore=200", env: "SOL_CONTINER_NAME=ray"},
		"iluvatar, cores":       {asks: "iluvatar.ai/MR-V50-vgpu=2 iluvatar.ai/MR-V50.vCore=50", refused: "50 contradicts iluvatar.ai/MR-V50-vgpu 2, for which it is 200"},
		"kunlun virtual":        {asks: "kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=1000", wants: "kunlunxin.com/vxpu-memory=24576 kunlunxin.com/vxpu=1"},
		"kunlun virtual, half":  {asks: "kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=24577", wants: "kunlunxin.com/vxpu-memory=49152 kunlunxin.com/vxpu=1"},
		"kunlun virtual, above": {asks: "kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=200k", refused: "200k is more than there is: at most 98304"},
		"metax shared":          {asks: "metax-tech.com/sgpu=1 metax-tech.com/vcore=60 metax-tech.com/vmemory=16", annotated: "metax-tech.com/sgpu-qos-policy=best-effort"},
		"metax shared, online":  {asks: "metax-tech.com/sgpu=1", annotations: m{"metax-tech.com/sgpu-app-class": "online"}, annotated: "metax-tech.com/sgpu-app-class=online"},
		"metax shared, two online": {asks: "metax-tech.com/sgpu=2", annotations: m{"metax-tech.com/sgpu-app-class": "online"},
			refused: "2 must be 1 in Pods with the annotation metax-tech.com/sgpu-app-class"},
		"metax shared, other class":  {asks: "metax-tech.com/sgpu=1", annotations: m{"metax-tech.com/sgpu-app-class": "x"}, refused: "must be one of online, offline"},
		"metax shared, other policy": {asks: "metax-tech.com/sgpu=1", annotations: m{"metax-tech.com/sgpu-qos-policy": "x"}, refused: "must be one of best-effort, fixed-share, burst-share"},
		"enflame shared, slices":     {asks: "enflame.com/drs-gcu=2"},
		"enflame shared, amounts":    {asks: "enflame.com/gcu-core=50 enflame.com/gcu-memory=10"},
		"enflame shared, cores":      {asks: "enflame.com/gcu-core=101 enflame.com/gcu-memory=10", refused: "101 must be from 1 to 100"},
		"neuron":                     {asks: "aws.amazon.com/neuron=3"},
		"neuron, a core":             {asks: "aws.amazon.com/neuroncore=1"},
		"neuron, cores":              {asks: "aws.amazon.com/neuroncore=4"},
		"neuron, odd cores":          {asks: "aws.amazon.com/neuroncore=3", refused: "3 must be a multiple of 2, or 1"},
	})
}

// TestAscend: templates, modules of two chips and the soft split.
func TestAscend(t *testing.T) {
	soft := m{"huawei.com/vnpu-mode": "hami-core"}
	check(t, map[string]family{
		"whole chip":             {asks: "huawei.com/Ascend910B3=1", wants: "huawei.com/Ascend910B3-memory=65536 huawei.com/Ascend910B3=1"},
		"two whole chips":        {asks: "huawei.com/Ascend910B3=2", wants: "huawei.com/Ascend910B3-memory=65536 huawei.com/Ascend910B3=2"},
		"template":               {asks: "huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=5k", wants: "huawei.com/Ascend910B3-memory=16384 huawei.com/Ascend910B3=1"},
		"above the largest":      {asks: "huawei.com/Ascend910A=1 huawei.com/Ascend910A-memory=18k", wants: "huawei.com/Ascend910A-memory=32768 huawei.com/Ascend910A=1"},
		"above the capacity":     {asks: "huawei.com/Ascend910B4=1 huawei.com/Ascend910B4-memory=40k", refused: "40k must be from 1 to 32768"},
		"parts of two":           {asks: "huawei.com/Ascend910B2=2 huawei.com/Ascend910B2-memory=8192", refused: "2 must be 1, unless huawei.com/Ascend910B2-memory is 65536: it is 8192"},
		"a template of 910B4-1":  {asks: "huawei.com/Ascend910B4-1=1 huawei.com/Ascend910B4-1-memory=20k", wants: "huawei.com/Ascend910B4-1-memory=32768 huawei.com/Ascend910B4-1=1"},
		"310P":                   {asks: "huawei.com/Ascend310P=1", wants: "huawei.com/Ascend310P-memory=21527 huawei.com/Ascend310P=1"},
		"310P, all that it has":  {asks: "huawei.com/Ascend310P=1 huawei.com/Ascend310P-memory=24576", wants: "huawei.com/Ascend310P-memory=21527 huawei.com/Ascend310P=1"},
		"310P, above":            {asks: "huawei.com/Ascend310P=1 huawei.com/Ascend310P-memory=24577", refused: "24577 must be from 1 to 24576"},
		"half of a module":       {asks: "huawei.com/Ascend910C=1", wants: "huawei.com/Ascend910C-memory=65536 huawei.com/Ascend910C=2"},
		"one and a half modules": {asks: "huawei.com/Ascend910C=3", refused: "3 must be a multiple of 2"},
		"soft split": {asks: "huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-core=30 huawei.com/Ascend910B3-memory=5k", annotations: soft,
			wants: "huawei.com/Ascend910B3-core=30 huawei.com/Ascend910B3-memory=5k huawei.com/Ascend910B3=1"},
		"cores without soft split": {asks: "huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-core=30", refused: "30 needs the annotation huawei.com/vnpu-mode=hami-core on the Pod"},
	})
}

// TestContradiction: both values are named, by us and not by the API server.
func TestContradiction(t *testing.T) {
	r := planOf(t, hami(t), pod(limits("ray", "mthreads.com/vgpu=2 mthreads.com/sgpu-memory=32")))
	want := "container ray: mthreads.com/sgpu-memory: 32 contradicts mthreads.com/vgpu 2, for which it is 192; write that, or leave it out"
	if got := problems(r); got != want {
		t.Errorf("problems %q, want %q", got, want)
	}
}
