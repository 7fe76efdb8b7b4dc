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
	"encoding/xml"
	"fmt"
	"strings"
)

// panel is a group of bars on one scale.
type panel struct {
	title string
	bars  []bar
}

type bar struct {
	label   string
	summary Summary
	// text is written behind the bar.
	text string
	ours bool
}

// The measures of a picture, in pixels.
const (
	svgWidth   = 990
	labelWidth = 320 // TestLabelsFit
	textWidth  = 190
	barHeight  = 16
	barGap     = 6
	panelGap   = 18
	headHeight = 26
	titleSpace = 44
)

// drawBars draws panels of horizontal bars, one below the other, each with a
// scale of its own that starts at 0. A thin line shows the range.
func drawBars(title string, panels []panel) string {
	height := titleSpace
	for _, p := range panels {
		height += headHeight + len(p.bars)*(barHeight+barGap) + panelGap
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n",
		svgWidth, height, svgWidth, height)
	fmt.Fprintf(&b, `<title>%s</title>`+"\n", escape(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", svgWidth, height)
	fmt.Fprintf(&b, `<text x="12" y="26" font-size="17" font-weight="bold" fill="#1f2328">%s</text>`+"\n", escape(title))
	y := titleSpace
	for _, p := range panels {
		y = drawPanel(&b, p, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawPanel(b *strings.Builder, p panel, y int) int {
	fmt.Fprintf(b, `<text x="12" y="%d" font-weight="bold" fill="#1f2328">%s</text>`+"\n", y+14, escape(p.title))
	y += headHeight
	largest := 0.0
	for _, bar := range p.bars {
		largest = max(largest, bar.summary.Max)
	}
	for _, bar := range p.bars {
		drawBar(b, bar, largest, y)
		y += barHeight + barGap
	}
	return y + panelGap
}

func drawBar(b *strings.Builder, bar bar, largest float64, y int) {
	scale := func(v float64) float64 {
		if largest <= 0 {
			return 0
		}
		return v / largest * (svgWidth - labelWidth - textWidth)
	}
	color := "#8c959f"
	if bar.ours {
		color = "#0969da"
	}
	middle := float64(y) + barHeight/2.0
	fmt.Fprintf(b, `<text x="%d" y="%.0f" text-anchor="end" fill="#1f2328">%s</text>`+"\n", labelWidth-8, middle+4, escape(bar.label))
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, y, scale(bar.summary.Median), barHeight, color)
	if bar.summary.Max > bar.summary.Min {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#1f2328" stroke-width="1.5"/>`+"\n",
			labelWidth+scale(bar.summary.Min), middle, labelWidth+scale(bar.summary.Max), middle)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.0f" fill="#1f2328">%s</text>`+"\n", labelWidth+scale(bar.summary.Max)+6, middle+4, escape(bar.text))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
