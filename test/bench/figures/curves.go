/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package figures

import (
	"fmt"
	"strings"
)

// chart is one panel of curves over the number of pods.
type chart struct {
	title  string
	curves []curve
}

type curve struct {
	// look is its place in the legend.
	look   look
	points []point
}

type point struct {
	pods  int
	value float64
}

// look is how a contender is drawn in all panels.
type look struct {
	label        string
	ours, dashed bool
}

// The measures of a panel, in pixels.
const (
	chartColumns = 3
	chartWidth   = svgWidth / chartColumns
	chartHeight  = 230
	chartLeft    = 58 // for the numbers of the axis
	chartRight   = 14
	chartTop     = 34 // for the title
	chartBottom  = 30 // for the numbers of pods
	legendHeight = 30
)

// drawCurves draws panels with one scale of pods for all and a scale of values
// for each, which both start at 0: what grows with the pods is a straight line.
func drawCurves(title string, charts []chart) string {
	rows := (len(charts) + chartColumns - 1) / chartColumns
	height := titleSpace + legendHeight + rows*chartHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n",
		svgWidth, height, svgWidth, height)
	fmt.Fprintf(&b, `<title>%s</title>`+"\n", escape(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", svgWidth, height)
	fmt.Fprintf(&b, `<text x="12" y="26" font-size="17" font-weight="bold" fill="#1f2328">%s</text>`+"\n", escape(title))
	drawLegend(&b, charts)
	most := 0
	for _, c := range charts {
		for _, curve := range c.curves {
			for _, p := range curve.points {
				most = max(most, p.pods)
			}
		}
	}
	for i, c := range charts {
		drawChart(&b, c, most, i%chartColumns*chartWidth, titleSpace+legendHeight+i/chartColumns*chartHeight)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawLegend(b *strings.Builder, charts []chart) {
	x, known := 14, map[look]bool{}
	for _, c := range charts {
		for _, curve := range c.curves {
			if known[curve.look] {
				continue
			}
			known[curve.look] = true
			fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" %s/>`+"\n", x, titleSpace+8, x+26, titleSpace+8, curve.look.stroke())
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="#1f2328">%s</text>`+"\n", x+32, titleSpace+12, escape(curve.look.label))
			x += 32 + 7*len(curve.look.label) + 18
		}
	}
}

func (l look) color() string {
	if l.ours {
		return "#0969da"
	}
	return "#8c959f"
}

func (l look) stroke() string {
	dashes := ""
	if l.dashed {
		dashes = ` stroke-dasharray="5 4"`
	}
	return fmt.Sprintf(`stroke=%q stroke-width="2"%s`, l.color(), dashes)
}

func drawChart(b *strings.Builder, c chart, most, left, top int) {
	largest := 0.0
	for _, curve := range c.curves {
		for _, p := range curve.points {
			largest = max(largest, p.value)
		}
	}
	right, bottom := left+chartWidth-chartRight, top+chartHeight-chartBottom
	x := func(pods int) float64 {
		return float64(left+chartLeft) + float64(pods)/float64(max(1, most))*float64(right-left-chartLeft)
	}
	y := func(value float64) float64 {
		if largest <= 0 {
			return float64(bottom)
		}
		return float64(bottom) - value/largest*float64(bottom-top-chartTop)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold" fill="#1f2328">%s</text>`+"\n", left+12, top+16, escape(c.title))
	for _, share := range []float64{0, 0.5, 1} {
		at := y(share * largest)
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#d0d7de"/>`+"\n", left+chartLeft, at, right, at)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end" fill="#1f2328">%s</text>`+"\n", left+chartLeft-6, at+4, axisNumber(share*largest))
	}
	for _, share := range []float64{0, 0.5, 1} {
		pods := int(share * float64(most))
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#1f2328">%s</text>`+"\n", min(x(pods), float64(right)-18), bottom+18, Thousands(pods))
	}
	for _, curve := range c.curves {
		var path []string
		for _, p := range curve.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(p.pods), y(p.value)))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x(p.pods), y(p.value), curve.look.color())
		}
		if len(path) > 1 {
			fmt.Fprintf(b, `<polyline points="%s" fill="none" %s/>`+"\n", strings.Join(path, " "), curve.look.stroke())
		}
	}
}

// axisNumber has as many digits as it needs.
func axisNumber(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return Thousands(int(v + 0.5))
	}
}
