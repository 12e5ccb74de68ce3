// SPDX-License-Identifier: Apache-2.0
// What a report cannot do by its style alone: the value under the pointer. Numbers are those of the table below each chart, so that there is one source
// of them. The arrow keys walk from point to point.
(function () {
    "use strict";

    function two(text) {
        return text.split(" ").map(Number);
    }

    // The rows of a chart's table: {x, cells}, a cell for each curve; null where a curve has none.
    function rowsOf(chart) {
        return Array.from(chart.querySelectorAll("tbody tr"), function (row) {
            var cells = Array.from(row.querySelectorAll("td"), function (cell) { return cell.querySelector("data"); });
            return { x: Number(row.querySelector("th data").value), cells: cells };
        });
    }

    function nearest(rows, x) {
        var low = 0, high = rows.length - 1;
        while (low < high) {
            var middle = (low + high) >> 1;
            if (rows[middle].x < x) { low = middle + 1; } else { high = middle; }
        }
        return low > 0 && x - rows[low - 1].x < rows[low].x - x ? low - 1 : low;
    }

    function element(name, parent, text) {
        var made = document.createElement(name);
        if (text !== undefined) { made.textContent = text; }
        parent.appendChild(made);
        return made;
    }

    function watch(chart) {
        var legend = Array.from(chart.querySelectorAll(".legend li"));
        var title = chart.querySelector(".xl").textContent;
        var rows = null, at = 0, tip = null, cross = null;

        function hide() {
            if (tip) { tip.remove(); cross.remove(); }
            tip = cross = null;
        }

        function fill(row) {
            tip.textContent = "";
            element("b", tip, title + " " + row.x.toLocaleString("en"));
            row.cells.forEach(function (cell, i) {
                if (!cell) { return; }
                var line = element("div", tip);
                line.className = legend[i].className;
                element("span", line, legend[i].textContent);
                element("output", line, cell.textContent);
            });
        }

        function show(plot, index) {
            var range = two(plot.dataset.x);
            at = Math.max(0, Math.min(rows.length - 1, index));
            var part = (rows[at].x - range[0]) / (range[1] - range[0]);
            if (!tip) {
                tip = element("div", plot);
                tip.className = "tip";
                tip.setAttribute("role", "status");
                cross = document.createElementNS("http://www.w3.org/2000/svg", "path");
                cross.setAttribute("class", "cross");
                plot.querySelector("svg").appendChild(cross);
            }
            fill(rows[at]);
            cross.setAttribute("d", "M" + 1000 * part + " 0V1000");
            tip.style.top = "4px";
            tip.style.left = part < 0.5 ? "calc(" + 100 * part + "% + 10px)" : "auto";
            tip.style.right = part < 0.5 ? "auto" : "calc(" + 100 * (1 - part) + "% + 10px)";
        }

        function ready() {
            rows = rows || rowsOf(chart);
            return rows.length > 0;
        }

        chart.querySelectorAll(".plot").forEach(function (plot) {
            var keys = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
            plot.tabIndex = 0;
            plot.setAttribute("role", "group");
            plot.setAttribute("aria-label", "values: arrow keys");
            plot.addEventListener("pointermove", function (event) {
                var box = plot.getBoundingClientRect(), range = two(plot.dataset.x);
                if (ready()) { show(plot, nearest(rows, range[0] + (event.clientX - box.left) / box.width * (range[1] - range[0]))); }
            });
            plot.addEventListener("pointerleave", hide);
            plot.addEventListener("blur", hide);
            plot.addEventListener("focus", function () { if (ready()) { show(plot, at); } });
            plot.addEventListener("keydown", function (event) {
                if (event.key === "Escape") { hide(); }
                if (!(event.key in keys) || !ready()) { return; }
                event.preventDefault();
                show(plot, at + keys[event.key]);
            });
        });
    }

    document.querySelectorAll(".chart").forEach(watch);
}());
